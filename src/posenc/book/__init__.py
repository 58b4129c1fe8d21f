"""What only the book uses: plots, live figures, experiments, small models, hunts for bugs.

The rest of the package stands on its own. Each module here needs what its line says.

| module | what it does | needs |
|---|---|---|
| `plots` | draws in the book's style | matplotlib |
| `widgets` | live figures, on the site and in Jupyter | anywidget, matplotlib |
| `experiments` | the models that the book trains | torch |
| `tiny` | a transformer that trains without torch | numpy |
| `hunt` | which bugs of the museum a test of yours catches | numpy |
| `recall` | public bugs, rebuilt | torch |
"""

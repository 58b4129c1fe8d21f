"""What only the book uses; the rest of the package stands on its own.

- `plots` draws in the book's style, and `widgets` has the live figures;
- `experiments` trains the book's models, and `tiny` is a decoder without torch;
- `hunt` says which bugs of the museum a test of yours catches.
"""

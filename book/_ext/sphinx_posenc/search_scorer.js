// Given to the site's search by `_config.yml`. A heading that holds what was typed, word for
// word, comes before pages that have the same words somewhere: it leads to the place itself.
Scorer.score = ([, title, anchor, description, score]) =>
  anchor && description === null && title.includes(" > ") ? score + 10 : score;

// A source that names pages: docs/steps.md is there, and so is its heading: docs/steps.md, "Streams".
// This page has gone: docs/gone.md. This heading was never there: docs/steps.md, "No such
// heading".

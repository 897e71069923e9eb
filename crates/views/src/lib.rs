//! What analyses answer, as terminal text, JSON, CSV and HTML.

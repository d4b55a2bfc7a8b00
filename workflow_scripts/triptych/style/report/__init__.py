"""Tables, figures, claims and page section of the style study."""

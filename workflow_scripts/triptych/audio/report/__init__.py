"""Tables, figures, claims and page section of the audio study."""

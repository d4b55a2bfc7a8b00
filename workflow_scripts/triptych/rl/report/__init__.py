"""Tables, figures, claims and page section of the offline-RL study."""

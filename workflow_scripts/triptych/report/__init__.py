"""How results are shown, whatever the study."""

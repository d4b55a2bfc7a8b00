"""Labels and colours of the audio study's plots and tables."""

# Okabe and Ito's palette, told apart by every common form of colour vision.
DATASET_LABELS = {"clotho": "Clotho", "audiocaps": "AudioCaps", "wavcaps": "WavCaps"}
CAPTION_LABELS = {"human": "human captions", "gpt": "new captions"}
CAPTION_COLOURS = {"human": "#d55e00", "gpt": "#0072b2"}
AUDIO_KIND_COLOURS = {
    "finetuned_gpt": "#0072b2",
    "finetuned_human": "#d55e00",
    "pretrained": "#009e73",
    "ensemble_published": "#1f2933",
    "ensemble_selected": "#1f2933",
}

"""The prompts, byte for byte."""

import hashlib

from triptych.audio.captions.settings import caption_prompt

CAPTION = "A person is making noise by tapping their fingernails on a solid surface."


def test_the_prompt_is_the_one_of_the_authors_code():
    prompt = caption_prompt(CAPTION, ["nails", "metal", "tapping"], 5)
    assert prompt == (
        "I will give a description of an audio recording and tags associated with the audio "
        "recording. Generate 5 audio captions describing the sound events. Each audio caption "
        "should be one sentence with less than 20 words. Use grammatical subject-verb-object "
        "sentences. Do not include names of cities, countries, and persons. Do not include the "
        "time. Do not include recording device names. Do not write introductions or "
        "explanations. Do not use \u201cheard\u201d, \u201crecorded\u201d. Start each output "
        f"sentence with its index. '{CAPTION}' [nails, metal, tapping]"
    )
    # The same, should both texts ever be edited together: SHA-256 of the bytes in UTF-8.
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    # pragma: allowlist nextline secret
    assert digest == "379c0378434306373c2a6280911dbffadead27ad7bf958ecbaec0da1b0196475"


def test_without_keywords_the_other_prompt_is_sent():
    assert caption_prompt("Rain falls.", [], 5) == (
        "Rephrase the following audio description 5 times. Vary the sentence length, but do not "
        "use more than 20 words. Try not to use the same words. 'Rain falls.'"
    )

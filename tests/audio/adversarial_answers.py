# ruff: noqa: RUF001
"""Answers of language models that would poison the data, each with what of it may be trained on.

Every answer that holds captions holds those of GOOD, so that whatever else is let in is poison. The
number is how many of them must be found: five where a person sees at once which lines are the
answer, none where nobody can be sure.
"""

from chat_server import GOOD, numbered

CAPTION = "A dog barks two times beside a busy road."
LIST = numbered(GOOD)
NOTES = numbered(
    [
        "The dog barks, so the sound comes first",
        "Traffic passes by in the background of it",
        "Two barks follow the noise of the cars",
        "The road lies near the dog and the cars",
        "Cars are passing while the dog is barking",
    ]
)
MUSING = (
    "Okay, the user wants five captions. The dog barks twice near a road.\n"
    "I should vary the subject. Maybe the cars come first.\nCars pass while a dog barks near them."
)
JSON = '{"captions": [' + ", ".join(f'"{line}"' for line in GOOD) + "]}"

THOUGHTS = {
    "deepseek": (f"<think>\n{NOTES}\n</think>\n\n{LIST}", 5),
    "thinking tag": (f"<thinking>{MUSING}</thinking>\n{LIST}", 5),
    "thought tag": (f"<thought>\n{NOTES}</thought>{LIST}", 5),
    "reasoning tag": (f"<reasoning>{NOTES}</reasoning>\n{LIST}", 5),
    "reflection tag": (f"<reflection>\n{NOTES}\n</reflection>\n{LIST}", 5),
    "scratchpad tag": (f"<scratchpad>\n{NOTES}\n</scratchpad>\n{LIST}", 5),
    "capitals": (f"<THINK>{NOTES}</THINK>\n{LIST}", 5),
    "attributes": (f'<think duration="4s">\n{NOTES}\n</think>\n{LIST}', 5),
    "seed": (f"<seed:think>{NOTES}</seed:think>{LIST}", 5),
    "magistral": (f"[THINK]{NOTES}[/THINK]{LIST}", 5),
    "kimi": (f"◁think▷{NOTES}◁/think▷{LIST}", 5),
    "cohere": (f"<|START_THINKING|>{NOTES}<|END_THINKING|>\n{LIST}", 5),
    "sky": (
        f"<|begin_of_thought|>\n{NOTES}\n<|end_of_thought|>\n"
        f"<|begin_of_solution|>\n{LIST}\n<|end_of_solution|>",
        5,
    ),
    "medgemma": (f"<unused94>thought\n{NOTES}<unused95>{LIST}", 0),
    "gpt-oss": (
        f"<|channel|>analysis<|message|>{NOTES}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{LIST}<|return|>",
        5,
    ),
    "gpt-oss without its tokens": (f"analysisWe need five. {NOTES}assistantfinal{LIST}", 0),
    "gpt-oss that was cut": (f"<|channel|>analysis<|message|>{NOTES}", 0),
    "opened by the template": (f"{NOTES}\n</think>\n\n{LIST}", 5),
    "never closed": (f"<think>\n{NOTES}", 0),
    "cut while thinking": (f"<think>\n{MUSING}\n{NOTES}\n1. A dog barks twice by", 0),
    "two blocks": (f"<think>{NOTES}</think>\n<think>{NOTES}</think>\n{LIST}", 5),
    "nested": (f"<think>{NOTES}<think>{MUSING}</think>{NOTES}</think>\n{LIST}", 5),
    "thought after": (f"{LIST}\n<think>\n{NOTES}\n</think>", 5),
    "closed twice": (f"<think>{MUSING}</think>\n{NOTES}\n</think>\n{LIST}", 5),
    "escaped": (f"&lt;think&gt;\n{NOTES}\n&lt;/think&gt;\n{LIST}", 5),
    "answer tag": (f"{NOTES}\n<answer>\n{LIST}\n</answer>", 5),
    "both tags": (f"<think>{NOTES}</think><answer>{LIST}</answer>", 5),
    "empty block": (f"<think>\n\n</think>\n\n{LIST}", 5),
    "only thoughts": (f"<think>{NOTES}</think>", 0),
    "granite": (
        f"Here is my thought process:\n{NOTES}\n\nHere is my response:\n{LIST}",
        0,
    ),
    "heading": (f"**Thinking Process:**\n\n{NOTES}\n\n**Final Answer:**\n\n{LIST}", 0),
    "markdown headings": (f"### Reasoning\n{NOTES}\n\n### Captions\n{LIST}", 0),
    "heading without an answer": (f"Thought process:\n{NOTES}", 0),
    "let's think": (f"Let's think step by step:\n{NOTES}", 0),
    "explained after": (f"{LIST}\n\nExplanation:\n{NOTES}", 0),
    "notes after": (f"{LIST}\n\n**Notes:**\n- The dog comes first in the third.", 0),
    "two lists": (f"{NOTES}\n\n{LIST}", 0),
    "draft and revision": (f"Draft:\n{NOTES}\nFinal captions:\n{LIST}", 0),
    "musing before": (f"{MUSING}\n\n{LIST}", 5),
    "musing alone": (MUSING, 0),
    "json with thoughts": ('{"reasoning": "Cars pass while a dog barks.", ' + JSON[1:], 5),
    "json with a list of thoughts": (
        '{"thoughts": ["Cars pass while a dog barks near them."], ' + JSON[1:],
        5,
    ),
    "json after a block": (f"<think>{NOTES}</think>\n{JSON}", 5),
    "json in a fence with words": (f"Here is the JSON:\n```json\n{JSON}\n```\nHope it helps!", 5),
    "json of objects": (
        '{"captions": [' + ", ".join(f'{{"caption": "{line}"}}' for line in GOOD) + "]}",
        0,
    ),
    "json of thoughts alone": ('{"steps": ["The dog is near the cars", "Cars pass by it"]}', 0),
    "json with the answer named last": (
        '{"analysis": ["Cars pass by the dog here"], "final": ' + JSON[13:],
        0,
    ),
    "thoughts that only end": (
        "Alright, so I need to rephrase this. Let's try:\n1. A dog barks twice on the street\n"
        f"2. Two barks come from a dog\nHmm, that is good.\n3. Cars pass it\n</think>\n{LIST}",
        5,
    ),
    "a block to be unfolded": (f"<details><summary>Thinking</summary>{NOTES}</details>\n{LIST}", 0),
    "thinking token": (f"<|thinking|>\n{NOTES}\n<|/thinking|>\n{LIST}", 5),
    "a word for a heading": (f"thought\n{MUSING}\n{NOTES}", 0),
    "a heading of analysis": (f"**Analysis of the sound:** a dog near cars.\n\n{LIST}", 5),
    "key sounds first": (f"Key sounds:\n- dog barking twice\n- cars on it\n\nCaptions:\n{LIST}", 5),
    "a second, shorter list": (f"{LIST}\n\nShorter:\n1. A dog barks twice.\n2. Cars pass.", 0),
    "json cut off": (JSON[:100], 0),
    "numbered orders": (
        "1. Identify the dog and the cars\n2. Keep the traffic in the background\n"
        "3. Mention that the dog barks twice\n4. Avoid repeating the cars in it",
        0,
    ),
    "numbered musings": (
        "1. I will put the dog at the beginning\n2. Let me add the cars to the dog\n"
        "3. We need a dog that is barking\n4. Wait, the dog barks near the road\n"
        "5. Maybe the cars are passing the dog",
        0,
    ),
    "counting words": (
        "1. A dog barks near the cars (8 words)\n2. Cars pass the dog - that is under 20 words\n"
        "3. Word count of the dog and the cars",
        0,
    ),
    "labelled parts": (
        "1. Subject: a dog by the road\n2. Action: it is barking twice\n"
        "3. Sound events: barking, traffic, cars passing",
        0,
    ),
}

ECHOES = {
    "the prompt": (
        "I will give a description of an audio recording and tags associated with the audio.\n"
        "Generate 5 audio captions describing the sound events.\n"
        "Use grammatical subject-verb-object sentences.\nStart each output with its index.",
        0,
    ),
    "the prompt, numbered": (
        "1. Each audio caption should be one sentence with less than 20 words.\n"
        "2. Do not include names of cities, countries, and persons.\n"
        "3. Do not include recording device names.\n4. Do not write introductions.",
        0,
    ),
    "the other prompt": ("1. Vary the sentence length, but do not use more than it.", 0),
    "its rules in other words": (
        "1. Every new sentence must be grammatical.\n2. No names of persons or cities are given.\n"
        "3. The keywords are woven into the sentence.\n4. None of the forbidden words is in it.",
        0,
    ),
    "the caption": (numbered([CAPTION, CAPTION.upper(), f"'{CAPTION}'"]), 0),
    "the caption with its tags": (f"1. '{CAPTION}' [dog, traffic]", 0),
    "the caption with a label": (f"Original: {CAPTION}\nCaption: {CAPTION}", 0),
    "the tags": ("1. dog, traffic, street\n2. traffic, street, dog", 0),
}

LANGUAGES = {
    "German": ["Ein Hund bellt zweimal neben der Straße.", "Autos fahren vorbei, es bellt laut."],
    "French": ["Un chien aboie deux fois près de la route.", "Des voitures passent et il aboie."],
    "Spanish": ["Un perro ladra cerca de la calle.", "Los coches pasan mientras el perro ladra."],
    "Italian": ["Un cane abbaia vicino alla strada.", "Le auto passano mentre il cane abbaia."],
    "Dutch": ["Een hond blaft langs de weg.", "Auto's rijden voorbij terwijl de hond blaft."],
    "Polish": ["Pies szczeka dwa razy przy drodze.", "Samochody przejeżdżają, a pies szczeka."],
    "Esperanto": ["Hundo bojas dufoje apud vojo.", "Aŭtoj preterpasas rapide."],
    "Turkish": [
        "Yolun yanında bir köpek havlıyor.",
        "Arabalar geçerken köpek iki kez havlar.",
    ],
    "Finnish": ["Koira haukkuu kaksi kertaa tien vieressä.", "Autot ajavat ohi, koira haukkuu."],
    "Indonesian": ["Anjing menggonggong dua kali di jalan.", "Mobil lewat ketika anjing ribut."],
    "Vietnamese": ["Con chó sủa hai lần bên đường.", "Xe chạy qua khi con chó sủa."],
    "Chinese": ["一只狗在路边叫了两声。", "汽车经过时，狗在叫。"],
    "Japanese": ["犬が道路のそばで二回吠えます。", "車が通り過ぎ、犬が吠えます。"],
    "Russian": ["Собака лает у дороги дважды.", "Машины едут, пока собака лает."],
    "Arabic": ["ينبح كلب مرتين بجانب الطريق.", "تمر السيارات بينما ينبح الكلب."],
    "half German": ["Der Hund barks loudly near the road.", "A dog barks und the cars pass by."],
    "half Russian": ["A dog лает near the road.", "Cars pass while a собака barks."],
}

FORMS = {
    "two sentences": ("1. A dog barks twice. Cars pass by.\n2. Cars pass! Then a dog barks.", 0),
    "three sentences": ("1. A dog barks. It barks again. Cars are passing by.", 0),
    "sentences without a space": ("1. A dog barks twice.Cars are passing by.", 0),
    "a question": ("1. Is a dog barking near the road?\n2. Would a dog bark near the cars?", 0),
    "a refusal": ("I'm sorry, but I can't help with that request.", 0),
    "a numbered refusal": (numbered(["As an AI language model, no sound can be told."] * 5), 0),
    "a polite refusal": ("Unfortunately, the dog cannot be described, as no sound was given.", 0),
    "a question back": ("Could you please provide the audio of the dog?", 0),
    "an excuse": (numbered(["It is not possible to describe this sound."] * 2), 0),
    "placeholders": ("1. [caption 1]\n2. <caption>\n3. Insert the new sentence here.", 0),
    "one word": (numbered(["dog dog dog dog dog", "bark bark bark bark"]), 0),
    "dots": ("1. A dog barks...\n2. ...", 0),
    "marks": ("1. A dog barks near a road. 9/10\n2. A dog barks again - good", 0),
    "an error": ('{"error": "the model is overloaded, try again later"}', 0),
    "remarks": (numbered([f"{line} (order varied)" for line in GOOD]), 0),
    "lists of a page": ("<ol><li>A dog barks near a road.</li><li>Cars pass it.</li></ol>", 0),
    "lorem ipsum": ("1. Lorem ipsum dolor sit amet consectetur.", 0),
    "yaml": ("captions:\n" + "\n".join(f"  - {line}" for line in GOOD), 5),
    "a null": ("null", 0),
    "an empty list": ('{"captions": []}', 0),
    "a list of nulls": ('{"captions": [null, null, null, null, null]}', 0),
    "nothing": ("", 0),
    "white space": (" \n\t\n", 0),
    "web page": ("<html><body><p>The dog barks at the gate of the server</p></body></html>", 0),
    "code": ("```python\nprint('A dog barks at the gate')\n```", 0),
    "a table": ("| 1 | A dog barks at the gate |\n|---|---|\n| 2 | A dog barks again |", 0),
    "a link": ("1. A dog barks at https://example.com while cars pass.", 0),
    "a call of a tool": ('<tool_call>{"name": "write", "text": "A dog barks."}</tool_call>', 0),
    "special tokens": (f"{LIST}<|im_end|>\n<|endoftext|>", 5),
    "end of turn": (f"{LIST}<end_of_turn>", 5),
    "introduced and wished well": (f"Sure! Here you go:\n\n{LIST}\n\nI hope this helps!", 5),
    "offers more": (f"{LIST}\n\nWould you like more captions of the dog?", 5),
    "another person's words": (f"{LIST}\nUser: And now for a cat.\nAssistant: A cat meows.", 5),
    "cut in the middle": ("1. A dog barks twice near a busy road and the", 0),
    "emphasis within": ("1. A *dog* barks **twice** near the _road_.", 0),
    "alternatives": ("1. A dog barks/yelps near the road.\n2. A dog [hound] barks nearby.", 0),
}

ANSWERS = (
    THOUGHTS
    | {f"echo of {name}": answer for name, answer in ECHOES.items()}
    | {f"in {name}": (numbered(lines), 0) for name, lines in LANGUAGES.items()}
    | FORMS
)

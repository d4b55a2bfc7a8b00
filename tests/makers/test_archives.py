"""Images taken out of archives."""

import io

from PIL import Image

from makers.archives import images_within


def test_images_are_found_in_an_archive_and_nothing_else():
    members = []
    for form, colour in (("JPEG", "red"), ("WEBP", "blue")):
        stream = io.BytesIO()
        Image.new("RGB", (40, 30), colour).save(stream, form)
        members.append(stream.getvalue())
    archive = b"qres\0" + members[0] + b"\xff\xd8\xff\xe0 no image " + members[1] + b"end"
    found = [Image.open(io.BytesIO(data)) for data in images_within(archive)]
    assert [image.format for image in found] == ["JPEG", "WEBP"]
    reds = [image.convert("RGB").getpixel((9, 9))[0] for image in found]
    assert reds[0] > 200 > 50 > reds[1]

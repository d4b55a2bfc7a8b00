"""What results keep of their photographs: Exif, XMP and resolution."""

import io

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from triptych.style.data import image_files
from triptych.style.data.image_files import open_image, planes


def described(form: str) -> bytes:
    """A turned picture with Exif, XMP and 300 dots an inch, and a maker's notes."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x0132] = "2024:05:06 07:08:09"
    exif[0x8298] = "\xa9 A. Photographer".encode()
    exif.get_ifd(0x8769).update({0x9003: "2024:05:06 07:08:09", 0x927C: b"notes", 0xA002: 20})
    exif.get_ifd(0x8825).update({1: "N", 2: (52.0, 30.0, 12.5)})
    exif[0x8769], exif[0x8825] = exif.get_ifd(0x8769), exif.get_ifd(0x8825)
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><a tiff:Orientation="6" b="me"/></x:xmpmeta>'
    options = {"xmp": xmp}
    if form == "PNG":
        options = {"pnginfo": PngInfo()}
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", xmp.decode())
    if form == "TIFF":
        exif[700], options = xmp, {}
    stream = io.BytesIO()
    Image.new("RGB", (20, 30), "red").save(stream, form, exif=exif, dpi=(300, 300), **options)
    return stream.getvalue()


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif"])
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_exif_xmp_and_resolution_are_kept_without_orientation(tmp_path, form, suffix):
    image = open_image(described(form))
    path = tmp_path / f"a{suffix}"
    image_files.write_planes(path, *planes(image), image.info[image_files.ABOUT])
    with Image.open(path) as result:
        exif = result.getexif()
        assert result.size == (30, 20) and exif.get(0x0112, 1) == 1
        assert exif[0x0132] == exif.get_ifd(0x8769)[0x9003] == "2024:05:06 07:08:09"
        assert exif[0x8298].encode("latin-1").decode() == "\xa9 A. Photographer"
        assert exif.get_ifd(0x8825)[2] == (52.0, 30.0, 12.5)
        assert not {0x927C, 0xA002} & set(exif.get_ifd(0x8769))
        xmp = result.info["xmp"]
        assert b'b="me"' in xmp and b"Orientation" not in xmp
        if "WEBP" not in (form, result.format):
            assert result.info["dpi"] == pytest.approx((300, 300), abs=0.1)


def test_what_a_jpeg_has_no_room_for_is_told_and_left_out(tmp_path, caplog):
    exif = Image.Exif()
    exif[0x010E] = "x" * 70_000
    black = np.zeros((3, 8, 8), np.float32)
    image_files.write_planes(tmp_path / "a.jpg", black, about={"exif": exif, "xmp": b"x" * 70_000})
    assert not Image.open(tmp_path / "a.jpg").getexif()
    assert "Exif" in caplog.text and "XMP" in caplog.text

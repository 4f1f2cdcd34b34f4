"""Names of file formats, so that errors can name the format of an unsupported file."""

from __future__ import annotations

# For ISO base media files: the brands after "ftyp".
_BRANDS = {
    "an HEIC photograph": (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"),
    "an AVIF picture": (b"avif", b"avis"),
    "an M4A recording": (b"M4A ", b"M4B ", b"F4A "),
    "a QuickTime video": (b"qt  ",),
    "a 3GP video": (b"3gp4", b"3gp5", b"3gp6", b"3g2a"),
}
# The first bytes of other formats.
_STARTS = {
    "a WMA or WMV file": b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",
    "an AMR recording": b"#!AMR",
    "a CAF recording": b"caff",
    "an AU recording": b".snd",
    "a Wave64 recording": b"riff\x2e\x91\xcf\x11",
    "a MIDI file, which has notes and no sound": b"MThd",
    "a Matroska or WebM video": b"\x1aE\xdf\xa3",
    "a PDF document": b"%PDF",
    "a ZIP archive or an office document": b"PK\x03\x04",
    "a Photoshop document": b"8BPS",
    "a JPEG XL picture": b"\x00\x00\x00\x0cJXL ",
    "a JPEG 2000 picture": b"\x00\x00\x00\x0cjP  ",
    "an OpenEXR picture": b"\x76\x2f\x31\x01",
    "an icon": b"\x00\x00\x01\x00",
    "a JPEG picture": b"\xff\xd8\xff",
    "a PNG picture": b"\x89PNG\r\n\x1a\n",
    "a GIF picture": b"GIF8",
    "a BMP picture": b"BM",
    "a TIFF picture": b"II*\x00",
    "a big-endian TIFF picture": b"MM\x00*",
    "a FLAC recording": b"fLaC",
    "an Ogg recording": b"OggS",
    "an MP3 recording": b"ID3",
}


def name_file_kind(content: bytes) -> str:
    """Return what a file is, with its article, such as "an M4A recording", or "" if unknown."""
    if content[4:8] == b"ftyp":
        brand = content[8:12]
        for kind, brands in _BRANDS.items():
            if brand in brands:
                return kind
        return "an MP4 video"
    if content.startswith(b"RIFF"):
        forms = {b"WAVE": "a WAV recording", b"AVI ": "an AVI video", b"WEBP": "a WebP picture"}
        return forms.get(content[8:12], "")
    for kind, start in _STARTS.items():
        if content.startswith(start):
            return kind
    # In the header of an MPEG audio frame, layer 0 means AAC.
    if content[:1] == b"\xff" and len(content) > 1 and content[1] & 0xF6 == 0xF0:
        return "an AAC recording"
    begins = content[:4096].lower()
    is_svg = begins.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and b"<svg" in begins
    return "an SVG drawing" if is_svg else ""

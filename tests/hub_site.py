"""The addresses of a repository on the Hugging Face hub, as its interface lists and serves them."""

import hashlib
import json

REVISION = "0123456789abcdef0123456789abcdef01234567"  # pragma: allowlist secret


def hub_site(kind, repository, files, folder="", large=(), listed=None):
    """What the hub has at which path, for `Behaviour.files`.

    kind: "models" or "datasets"; files: contents by their names in `folder`; large: the names of
    those in large-file storage; listed: the contents that the list tells of, where others are sent.
    """
    inside = f"{folder}/" if folder else ""
    entries = [{"type": "directory", "path": f"{inside}more", "oid": "0" * 40}]
    for name, content in (files if listed is None else listed).items():
        git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        entry = {"type": "file", "oid": git, "size": len(content), "path": inside + name}
        if name in large:
            sha256 = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 130}
        entries.append(entry)
    place = f"/{'datasets/' if kind == 'datasets' else ''}{repository}/resolve/{REVISION}/{inside}"
    listing = f"/api/{kind}/{repository}/tree/{REVISION}/{folder}".rstrip("/")
    sent = {place + name: content for name, content in files.items()}
    return {listing: json.dumps(entries).encode(), **sent}

"""The address of a server of captions, which stands in the config and hence in many files."""

LOGIN_VARIABLE = "OPENAI_LOGIN"


def check_address(base_url: str | None) -> None:
    """Raise ValueError, which doesn't show it, for an address with anything secret in it.

    Snakemake keeps a rule's parameters in its metadata, and the provenance of results does too.
    """
    if base_url is None:
        return
    if "@" in base_url:
        raise ValueError(
            "audio.captions.base_url holds a user or a password, which would reach files. Take "
            f"them out, and export {LOGIN_VARIABLE}=user:password in the environment instead"
        )
    if "?" in base_url or "#" in base_url:
        raise ValueError(
            "audio.captions.base_url holds a ? or #, behind which no path can follow. Give the "
            "address alone; a key belongs in the environment, as OPENAI_API_KEY"
        )
    if not base_url.startswith(("http://", "https://")):
        raise ValueError("audio.captions.base_url must begin with http:// or https://")

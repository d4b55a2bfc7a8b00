from triptych.core.provenance import watch_imports

watch_imports()

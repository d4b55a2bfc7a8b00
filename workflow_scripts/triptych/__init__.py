from triptych.core.imported import watch_imports

watch_imports()

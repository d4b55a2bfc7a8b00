"""python planned_job.py NUMBER: runs that job of jobs.pickle, and leaves its id in `pid`."""

import os
import pickle
import runpy
import sys
from pathlib import Path

SCRIPTS = Path("workflow_scripts").resolve()

if __name__ == "__main__":
    Path("pid.new").write_text(str(os.getpid()))
    Path("pid.new").rename("pid")
    sys.path.insert(0, str(SCRIPTS))
    job = pickle.loads(Path("jobs.pickle").read_bytes())[int(sys.argv[1])]
    script = SCRIPTS / (job.rule.replace("_", "/", 1) + ".py")
    runpy.run_path(str(script), init_globals={"snakemake": job})

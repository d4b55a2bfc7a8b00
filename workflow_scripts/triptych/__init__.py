"""Three papers on machine learning, reproduced by one Snakemake workflow."""

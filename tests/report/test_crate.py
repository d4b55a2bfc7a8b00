"""The run's record for machines, by what RO-Crate 1.1 and Workflow Run Crate 0.5 demand."""

import json

from triptych.report.crate import write_crate


def test_a_crate_names_its_workflow_what_it_read_and_what_it_made(tmp_path):
    made, record = tmp_path / "tables" / "a table.csv", tmp_path / "record.json"
    made.parent.mkdir()
    made.write_text("x\n1\n")
    record.write_text("{}")
    snakefile = tmp_path / "checkout" / "Snakefile"
    snakefile.parent.mkdir()
    snakefile.write_text("rule all:\n")
    manifest = {"scale": "demo", "commit": "abc", "config": {"scale": "demo"}}
    manifest |= {"jobs": {str(record): {}}, "outputs": {str(made): "12"}}
    write_crate(
        tmp_path / "ro-crate-metadata.json",
        {**manifest, "sources": {"resources/costs.csv": "34"}},
        *(snakefile, "MIT."),
    )
    crate = json.loads((tmp_path / "ro-crate-metadata.json").read_text())
    assert crate["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    entities = {each["@id"]: each for each in crate["@graph"]}
    assert len(entities) == len(crate["@graph"])
    kept, root = entities["ro-crate-metadata.json"], entities["./"]
    assert kept["about"] == {"@id": "./"}
    assert {"@id": "https://w3id.org/ro/crate/1.1"} in kept["conformsTo"]
    assert root["@type"] == "Dataset" and {"name", "description", "datePublished"} <= set(root)
    main = entities[root["mainEntity"]["@id"]]
    assert set(main["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    assert (tmp_path / main["@id"]).read_text() == "rule all:\n"
    run = entities[root["mentions"]["@id"]]
    assert run["@type"] == "CreateAction" and run["instrument"] == root["mainEntity"]
    assert (
        run["result"] == [{"@id": "tables/a%20table.csv"}] and run["result"][0] in root["hasPart"]
    )
    named = {entities[each["@id"]]["name"] for each in run["object"]}
    assert named == {"config", "resources/costs.csv"}

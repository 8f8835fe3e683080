"""What loading gives: documents, their places, and what environments make of them."""

import random

import pytest

from gati_gitops.errors import Place, Problem, SpecsInvalid
from gati_gitops.spec.load import Specs, load
from tests.spec.samples import HANDLER, PARTIAL, PROJECT


def load_texts(files: dict[str, str]) -> Specs:
    return load([(name, text.encode()) for name, text in files.items()])


def problems(files: dict[str, str]) -> tuple[Problem, ...]:
    with pytest.raises(SpecsInvalid) as caught:
        load_texts(files)
    return caught.value.problems


def only(files: dict[str, str]) -> Problem:
    found = problems(files)
    assert len(found) == 1, [f"{p.place}: {p.message}" for p in found]
    return found[0]


def test_without_a_project_there_is_one_environment() -> None:
    specs = load_texts({"a.yaml": HANDLER})

    assert specs.project_doc is None
    assert list(specs.project.spec.environments) == ["default"]
    assert list(specs.project.spec.environments["default"].clusters) == ["in-cluster"]
    assert [doc.model.metadata.name for doc in specs.handlers] == ["user-handler"]
    assert specs.handlers[0].data["spec"]["port"] == 3000
    assert specs.warnings == ()


def test_documents_are_sorted_and_file_order_is_irrelevant() -> None:
    files = [
        (
            f"{n}.yaml",
            HANDLER.replace("user-handler", n)
            .replace("spec:", f"  namespace: {ns}\nspec:")
            .encode(),
        )
        for n, ns in (("b", "one"), ("a", "two"), ("c", "one"))
    ]
    names = []
    for seed in range(3):
        random.Random(seed).shuffle(files)
        names.append([doc.model.metadata.name for doc in load(files).handlers])
    assert names == [["b", "c", "a"]] * 3


def test_several_documents_in_a_file_are_numbered() -> None:
    second = HANDLER.replace("user-handler", "other")
    specs = load_texts({"a.yaml": f"---\n{HANDLER}---\n---\n{second}"})
    assert [(doc.model.metadata.name, doc.number) for doc in specs.handlers] == [
        ("other", 2),
        ("user-handler", 0),
    ]
    assert specs.handlers[0].place("metadata", "name") == Place("a.yaml", 17, 9)


class TestPlaces:
    def test_a_scalar_is_where_its_value_is_and_a_mapping_where_its_key_is(self) -> None:
        doc = load_texts({"a.yaml": HANDLER}).handlers[0]
        assert doc.place("spec", "port") == Place("a.yaml", 10, 9)
        assert doc.place("spec") == Place("a.yaml", 5, 1)
        assert doc.place() == Place("a.yaml", 1, 1)

    def test_a_field_that_is_not_there_is_where_its_parent_is(self) -> None:
        doc = load_texts({"a.yaml": HANDLER}).handlers[0]
        assert doc.place("spec", "drain", "delaySeconds") == Place("a.yaml", 5, 1)

    def test_items_of_lists(self) -> None:
        doc = load_texts(
            {"a.yaml": HANDLER + "  hosts:\n    - a.example\n    - b.example\n"}
        ).handlers[0]
        assert doc.place("spec", "hosts", 1) == Place("a.yaml", 13, 7)

    def test_columns_count_characters_and_lines_end_as_they_like(self) -> None:
        text = HANDLER + "  env: {NAME: 'ümläut', B: b}\n"
        doc = load_texts({"a.yaml": text.replace("\n", "\r\n")}).handlers[0]
        assert doc.place("spec", "env", "B") == Place("a.yaml", 11, 28)
        assert doc.model.spec.env == {"NAME": "ümläut", "B": "b"}

    def test_a_field_of_a_partial_is_in_the_file_that_set_it(self) -> None:
        specs = load_texts(
            {"a.yaml": HANDLER, "gati.yaml": PROJECT, "environments/prod/a.yaml": PARTIAL}
        )
        doc = specs.on("prod", "eu-1").handlers[0]
        assert doc.files == ("a.yaml", "environments/prod/a.yaml")
        assert doc.file == "a.yaml"
        assert doc.place("spec", "replicas") == Place("environments/prod/a.yaml", 5, 13)
        assert doc.place("spec", "port") == Place("a.yaml", 10, 9)


FILES = {"a.yaml": HANDLER, "gati.yaml": PROJECT}


class TestPartials:
    def test_an_environment_changes_only_itself(self) -> None:
        specs = load_texts({**FILES, "environments/prod/deep/er/a.yaml": PARTIAL})
        assert specs.handlers[0].model.spec.replicas == 3
        assert specs.on("staging", "staging-1") is specs
        for cluster in ("eu-1", "us-1"):
            assert specs.on("prod", cluster).handlers[0].model.spec.replicas == 5

    def test_a_cluster_goes_over_its_environment(self) -> None:
        specs = load_texts(
            {
                **FILES,
                "environments/prod/users.yaml": PARTIAL + "  env: {A: env, B: env}\n",
                "environments/prod/clusters/eu-1/a.yaml": PARTIAL.replace(
                    "  replicas: 5\n", "  env: {B: eu}\n"
                ),
            }
        )
        europe = specs.on("prod", "eu-1").handlers[0]
        assert europe.model.spec.env == {"A": "env", "B": "eu"}
        assert europe.model.spec.replicas == 5
        assert europe.files == (
            "a.yaml",
            "environments/prod/users.yaml",
            "environments/prod/clusters/eu-1/a.yaml",
        )
        assert specs.on("prod", "us-1").handlers[0].model.spec.env == {"A": "env", "B": "env"}

    def test_a_cluster_with_partials_keeps_those_of_its_environment_for_others(self) -> None:
        other = HANDLER.replace("user-handler", "other")
        specs = load_texts(
            {
                **FILES,
                "b.yaml": other,
                "environments/prod/a.yaml": PARTIAL,
                "environments/prod/clusters/eu-1/b.yaml": PARTIAL.replace("user-handler", "other"),
            }
        )
        assert [d.model.spec.replicas for d in specs.on("prod", "eu-1").handlers] == [5, 5]
        assert [d.model.spec.replicas for d in specs.on("prod", "us-1").handlers] == [3, 5]

    def test_what_has_no_partial_stays_the_same_object(self) -> None:
        other = HANDLER.replace("user-handler", "other")
        specs = load_texts({**FILES, "b.yaml": other, "environments/prod/a.yaml": PARTIAL})
        there = specs.on("prod", "eu-1")
        assert there.handlers[0] is specs.handlers[0]
        assert there.handlers[1] is not specs.handlers[1]
        assert there.modules is specs.modules or there.modules == specs.modules

    def test_null_deletes(self) -> None:
        files = {**FILES, "a.yaml": HANDLER + "  env: {A: a, B: b}\n"}
        partial = PARTIAL.replace("  replicas: 5\n", "  env: {A: null}\n")
        specs = load_texts({**files, "environments/prod/a.yaml": partial})
        assert specs.on("prod", "eu-1").handlers[0].model.spec.env == {"B": "b"}

    @pytest.mark.parametrize(
        "spec, line, column, part",
        [
            ("replicas: -1", 5, 13, "-1 is below 0"),
            ("port: null", 5, 9, "port is missing"),
            ("prot: 3", 5, 3, "no field prot"),
            ("autoscaling: {min: 5, max: 2}", 5, 3, "the floor 5 is above max 2"),
        ],
    )
    def test_a_fault_is_at_the_line_of_the_partial(
        self, spec: str, line: int, column: int, part: str
    ) -> None:
        partial = PARTIAL.replace("replicas: 5", spec)
        problem = only({**FILES, "environments/prod/a.yaml": partial})
        assert problem.place == Place("environments/prod/a.yaml", line, column)
        assert part in problem.message

    def test_a_wrong_base_is_told_once_and_hides_nothing_in_its_partials(self) -> None:
        base = HANDLER.replace("port: 3000", "port: 0")
        partial = PARTIAL.replace("replicas: 5", "replicas: -5")
        found = problems({**FILES, "a.yaml": base, "environments/prod/a.yaml": partial})
        assert [(p.place.file, p.message) for p in found] == [
            ("a.yaml", "0 is below 1"),
            ("environments/prod/a.yaml", "-5 is below 0"),
        ]

    def test_what_the_base_lacks_is_not_the_fault_of_its_partial(self) -> None:
        base = HANDLER.replace("  port: 3000\n", "")
        problem = only({**FILES, "a.yaml": base, "environments/prod/a.yaml": PARTIAL})
        assert problem.place == Place("a.yaml", 5, 1)

    def test_what_the_base_lacks_may_be_in_its_partials_for_none(self) -> None:
        base = HANDLER.replace("  port: 3000\n", "")
        partial = PARTIAL + "  port: 0\n"
        found = problems({**FILES, "a.yaml": base, "environments/prod/a.yaml": partial})
        assert [p.place.file for p in found] == ["a.yaml", "environments/prod/a.yaml"]

    def test_a_partial_needs_a_base(self) -> None:
        problem = only({**FILES, "environments/prod/a.yaml": PARTIAL.replace("user", "usre")})
        assert problem.code == "partial-without-base"
        assert problem.place == Place("environments/prod/a.yaml", 3, 9)

    def test_a_partial_whose_name_is_no_text(self) -> None:
        partial = PARTIAL.replace("spec:", "  namespace: 123\nspec:")
        problem = only({**FILES, "environments/prod/a.yaml": partial})
        assert (problem.code, problem.field) == ("wrong-type", "metadata.namespace")
        assert problem.place == Place("environments/prod/a.yaml", 4, 14)

    def test_a_partial_in_the_wrong_namespace_is_told_the_right_one(self) -> None:
        base = HANDLER.replace("spec:", "  namespace: shop\nspec:")
        problem = only({**FILES, "a.yaml": base, "environments/prod/a.yaml": PARTIAL})
        assert problem.remedy == "set metadata.namespace to shop"

    def test_an_unknown_environment(self) -> None:
        problem = only({**FILES, "environments/prd/a.yaml": PARTIAL})
        assert (problem.code, problem.place.line) == ("unknown-environment", 1)
        assert "prod or staging" in problem.remedy

    def test_an_unknown_cluster(self) -> None:
        problem = only({**FILES, "environments/prod/clusters/eu-2/a.yaml": PARTIAL})
        assert problem.code == "unknown-cluster"
        assert "eu-1 or us-1" in problem.remedy

    def test_an_environment_without_a_project(self) -> None:
        problem = only({"a.yaml": HANDLER, "environments/prod/a.yaml": PARTIAL})
        assert problem.code == "unknown-environment"

    def test_two_partials_for_one_object(self) -> None:
        files = {"environments/prod/a.yaml": PARTIAL, "environments/prod/b.yaml": PARTIAL}
        problem = only({**FILES, **files})
        assert problem.code == "duplicate-object"
        assert problem.place == Place("environments/prod/b.yaml", 3, 9)
        assert problem.related[0][0] == Place("environments/prod/a.yaml", 3, 9)

    @pytest.mark.parametrize("file", ["environments/a.yaml", "environments/a.yml"])
    def test_a_partial_of_no_environment(self, file: str) -> None:
        assert only({**FILES, file: PARTIAL}).code == "partial-misplaced"

    def test_a_project_in_an_environment(self) -> None:
        files = {"a.yaml": HANDLER, "environments/prod/gati.yaml": PROJECT}
        assert only(files).code == "partial-misplaced"

    def test_a_partial_without_a_name(self) -> None:
        partial = PARTIAL.replace("  name: user-handler\n", "  labels: {}\n")
        problem = only({**FILES, "environments/prod/a.yaml": partial})
        assert (problem.code, problem.field) == ("missing-field", "metadata.name")


class TestWhatIsNotOurs:
    def test_another_document_is_left_out_with_one_warning_per_file(self) -> None:
        foreign = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: &x yes}\nvalue: *x\n"
        specs = load_texts(
            {"a.yaml": HANDLER, "b.yaml": f"{foreign}---\n{foreign}", "c.yaml": "[1, 2]"}
        )
        assert [(w.code, w.place.file, w.place.line) for w in specs.warnings] == [
            ("not-gati", "b.yaml", 1),
            ("not-gati", "c.yaml", 1),
        ]
        assert not any(w.is_error for w in specs.warnings)

    def test_generated_files_are_skipped_silently(self) -> None:
        ours = "# Generated by gati-gitops from a.yaml. Do not edit.\na: [\n"
        assert load_texts({"a.yaml": HANDLER, "b.yaml": ours}).warnings == ()

    @pytest.mark.parametrize("files", [{}, {"a.yaml": ""}, {"a.yaml": "# nothing\n---\n"}])
    def test_an_empty_input_is_an_error(self, files: dict[str, str]) -> None:
        assert only(files).code == "empty-input"

    def test_nothing_of_ours_is_an_error_with_the_warning_beside_it(self) -> None:
        found = problems({"a.yaml": "kind: Pod\n"})
        assert [p.code for p in found] == ["empty-input", "not-gati"]

    def test_status_is_ignored_with_a_warning(self) -> None:
        specs = load_texts({"a.yaml": HANDLER + "status: {phase: Running, replicas: 1.5}\n"})
        assert [(w.code, w.place) for w in specs.warnings] == [
            ("status-ignored", Place("a.yaml", 11, 1))
        ]
        assert "status" not in specs.handlers[0].data

    def test_what_the_cluster_adds_to_metadata_is_fine(self) -> None:
        text = HANDLER.replace("spec:", "  uid: abc\n  finalizers: [x]\n  generation: 4\nspec:")
        assert load_texts({"a.yaml": text}).warnings == ()


class TestAllAtOnce:
    def test_a_broken_file_does_not_hide_others(self) -> None:
        found = problems(
            {
                "a.yaml": "a: [",
                "b.yaml": HANDLER.replace("3000", "0"),
                "c.yaml": "\ufeff" + HANDLER,
                "d.yaml": HANDLER.replace("user-handler", "other").replace("port", "prot"),
                "e.yaml": "kind: Pod",
            }
        )
        assert [(p.place.file, p.code) for p in found] == [
            ("a.yaml", "yaml-syntax"),
            ("b.yaml", "out-of-range"),
            ("c.yaml", "yaml-encoding"),
            ("d.yaml", "unknown-field"),
            ("e.yaml", "not-gati"),
        ]

    def test_what_was_found_before_the_syntax_error_is_kept(self) -> None:
        text = HANDLER.replace("3000", "0") + "---\nkind: GatiHandler\na: no\nb: ["
        codes = [p.code for p in problems({"a.yaml": text})]
        assert codes == ["out-of-range", "yaml-ambiguous", "yaml-syntax"]

    @pytest.mark.parametrize("bad", ["port: 0", "port: no", "prot: 3000", 'port: "3000"'])
    def test_one_bad_field_in_a_thousand_files(self, bad: str) -> None:
        files = {f"h{n}.yaml": HANDLER.replace("user-handler", f"h-{n}") for n in range(1000)}
        files["h617.yaml"] = files["h617.yaml"].replace("port: 3000", bad)
        problem = only(files)
        assert (problem.place.file, problem.place.line) == ("h617.yaml", 10)
        assert problem.field.startswith("spec.pr" if "prot" in bad else "spec.port")

    def test_two_documents_name_both_places(self) -> None:
        problem = only({"a.yaml": HANDLER, "b/c.yaml": HANDLER})
        assert problem.place == Place("b/c.yaml", 4, 9)
        assert problem.related[0][0] == Place("a.yaml", 4, 9)

    def test_the_same_name_in_two_namespaces_is_fine(self) -> None:
        other = HANDLER.replace("spec:", "  namespace: other\nspec:")
        assert len(load_texts({"a.yaml": HANDLER, "b.yaml": other}).handlers) == 2


class TestSecrets:
    def test_a_suspicious_name_is_a_warning(self) -> None:
        specs = load_texts({"a.yaml": HANDLER + "  env: {DB_PASSWORD: hunter2, TOKEN_URL: x}\n"})
        assert [w.field for w in specs.warnings] == ["spec.env.DB_PASSWORD"]

    def test_no_value_of_a_secret_is_in_any_message(self) -> None:
        token = "glpat-0123456789abcdefghij"
        text = HANDLER.replace("v1.0.0", f'"{token} x"') + f"  env: {{API_KEY: 4711, A: {token}}}\n"
        for problem in problems({"a.yaml": text}):
            for shown in (problem.message, problem.remedy):
                assert token not in shown
                assert "4711" not in shown

    def test_long_values_are_cut(self) -> None:
        problem = only({"a.yaml": HANDLER.replace("v1.0.0", f'"{"x y" * 50}"')})
        assert len(problem.message) < 120


class TestSuggestions:
    @pytest.mark.parametrize(
        "text, remedy",
        [
            ("  delaySeconds: 5\n", "did you mean spec.drain.delaySeconds?"),
            ("  drain: {port: 5}\n", "did you mean spec.port?"),
            ("  drain: {delay_seconds: 5}\n", "did you mean spec.drain.delaySeconds?"),
            ("  routingWeight: 5\n", "did you mean spec.timescape.routingWeight?"),
            ("  service-account: {}\n", "did you mean spec.serviceAccount?"),
            ("  route: /x\n", "did you mean spec.handlerPath?"),
            ("  healthCheck: {}\n", "did you mean spec.probes?"),
            ("  handlerId: x\n", "did you mean metadata.name?"),
            ("  traffic: 5\n", "did you mean spec.timescape.routingWeight?"),
            ("  method: GET\n", "remove it: a handler answers every method of its path"),
            ("  volumes: [{name: x, mountPath: /x, claim: x, readonly: true}]\n",
             "did you mean spec.volumes[0].readOnly?"),
        ],
    )  # fmt: skip
    def test_unknown_field(self, text: str, remedy: str) -> None:
        assert only({"a.yaml": HANDLER + text}).remedy == remedy

    def test_what_is_like_nothing_gets_the_list(self) -> None:
        problem = only({"a.yaml": HANDLER + "  drain: {frobnicate: 5}\n"})
        assert problem.remedy == "remove it; known fields: delaySeconds, requestSeconds"

    def test_a_missing_field_that_stands_there_misspelt_is_told_once(self) -> None:
        problem = only({"a.yaml": HANDLER.replace("image:", "imgae:")})
        assert (problem.code, problem.remedy) == ("unknown-field", "did you mean spec.image?")

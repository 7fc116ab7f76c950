#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_manifests COLLECTOR FOLDER VERSION: the manifests for Kubernetes in FOLDER, held to
# the published schemas: Kubernetes' own, as its Python client has them (package
# python3-kubernetes), and what the definitions of the two custom resources say of the keys
# that are used here. Options, images and names are held to what there is.

import glob
import os
import re
import subprocess
import sys
import unittest

try:
    import kubernetes.client as client
    import yaml
except ImportError as missing:
    print(f"SKIPPED: no schemas of Kubernetes (package python3-kubernetes): {missing}")
    sys.exit(77)

BINARY = FOLDER = VERSION = None
MODELS = {("apps/v1", "Deployment"): "V1Deployment", ("apps/v1", "DaemonSet"): "V1DaemonSet",
          ("v1", "Service"): "V1Service",
          ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget"}
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object}
# Of postgresql.cnpg.io/v1 Cluster and objectbucket.io/v1alpha1 ObjectBucketClaim; a key in
# capitals has to be there.
CUSTOM = {
    "Cluster": {"INSTANCES": int, "STORAGE": {"size": str}, "postgresql": {
        "synchronous": {"METHOD": ("any", "first"), "NUMBER": int}},
        "bootstrap": {"initdb": {"database": str, "owner": str, "encoding": str,
                                 "localeCollate": str, "localeCType": str,
                                 "postInitApplicationSQL": list}}},
    "ObjectBucketClaim": {"STORAGECLASSNAME": str, "generateBucketName": str},
}


def documents():
    found = []
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.yaml"))):
        with open(path, encoding="utf-8") as file:
            found += list(yaml.safe_load_all(file))
    return found


def check_model(value, kind, where, wrong):
    """Notes what of a value is not as the schema has it."""
    if kind.startswith("list["):
        for index, one in enumerate(value):
            check_model(one, kind[5:-1], f"{where}[{index}]", wrong)
    elif kind.startswith("dict("):
        for key, one in value.items():
            check_model(one, kind[5:-1].split(", ")[1], f"{where}.{key}", wrong)
    elif kind in PLAIN:
        if not isinstance(value, PLAIN[kind]):
            wrong.append(f"{where}: {value!r} is no {kind}")
    else:
        model = getattr(client, kind)
        names = {name: attribute for attribute, name in model.attribute_map.items()}
        for key, one in value.items():
            if key not in names:
                wrong.append(f"{where}: {kind} has no '{key}'")
            else:
                check_model(one, model.openapi_types[names[key]], f"{where}.{key}", wrong)
        try:  # what has to be there
            model(**{names[key]: one for key, one in value.items() if key in names})
        except ValueError as missing:
            wrong.append(f"{where}: {missing}")


def check_custom(value, shape, where, wrong):
    if isinstance(shape, tuple):
        if value not in shape:
            wrong.append(f"{where}: {value!r}")
    elif not isinstance(shape, dict):
        if not isinstance(value, shape):
            wrong.append(f"{where}: {value!r} is no {shape}")
    else:
        keys = {key.lower(): one for key, one in shape.items()}
        wrong += [f"{where}: no '{key}'" for key in value if key.lower() not in keys]
        present = {key.lower() for key in value}
        wrong += [f"{where}: '{key}' is missing" for key in shape
                  if key.isupper() and key.lower() not in present]
        for key, one in value.items():
            if key.lower() in keys:
                check_custom(one, keys[key.lower()], f"{where}.{key}", wrong)


class Manifests(unittest.TestCase):
    def test_each_is_as_the_published_schema_has_it(self):
        kinds = []
        for document in documents():
            kind = (document["apiVersion"], document["kind"])
            kinds.append(kind[1])
            wrong = []
            if kind in MODELS:
                check_model(document, MODELS[kind], kind[1], wrong)
            else:
                check_custom(document["spec"], CUSTOM[kind[1]], kind[1], wrong)
            self.assertEqual(wrong, [])
        self.assertEqual(sorted(kinds), ["Cluster", "DaemonSet", "Deployment",
                                         "ObjectBucketClaim", "PodDisruptionBudget", "Service"])

    def test_a_mistake_is_found(self):
        wrong = []
        deployment = next(d for d in documents() if d["kind"] == "Deployment")
        deployment["spec"]["replicsa"] = deployment["spec"].pop("replicas")
        del deployment["spec"]["selector"]
        check_model(deployment, "V1Deployment", "Deployment", wrong)
        check_custom({"method": "some"}, CUSTOM["Cluster"]["postgresql"]["synchronous"], "x",
                     wrong)
        self.assertEqual(len(wrong), 4, wrong)

    def test_it_names_what_there_is(self):
        deployment = next(d for d in documents() if d["kind"] == "Deployment")
        pod = deployment["spec"]["template"]["spec"]
        container = pod["containers"][0]
        self.assertEqual(container["image"], "crashhook:" + VERSION)
        known = subprocess.run([BINARY, "--help"], check=True, text=True,
                               stdout=subprocess.PIPE).stdout
        options = [word for word in container["args"] if word.startswith("--")]
        for option in options:
            self.assertRegex(known, rf"(?m)^  {option} ")
        self.assertEqual(len(options) * 2, len(container["args"]))
        volumes = {volume["name"] for volume in pod["volumes"]}
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)
        made = {d["metadata"]["name"] for d in documents()}
        database = re.search(r"postgresql://(.*?)-rw/", " ".join(container["args"])).group(1)
        self.assertIn(database, made)
        for variable in container["env"]:
            self.assertEqual(variable["valueFrom"]["secretKeyRef"]["name"], database + "-app")
        for source in container["envFrom"]:
            self.assertIn(list(source.values())[0]["name"], made)

    def test_the_node_agent_has_the_privileges_that_are_listed_here_and_no_others(self):
        pod = next(d for d in documents() if d["kind"] == "DaemonSet")["spec"]["template"]["spec"]
        added = {"agent": ["DAC_READ_SEARCH", "KILL", "SETGID", "SETUID", "SYS_PTRACE"]}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        shared = {key for key in pod if key.startswith("host")}
        self.assertEqual(shared, {"hostPID"})
        self.assertEqual({v["hostPath"]["path"] for v in volumes.values() if "hostPath" in v},
                         {"/proc/sys/kernel", "/run/crashhook-node", "/var/lib/crashhook",
                          "/var/lib/crashhook-node",
                          "/run/containerd/io.containerd.runtime.v2.task",
                          "/run/containers/storage/overlay-containers"})
        used = set()
        for container in pod["initContainers"] + pod["containers"]:
            self.assertEqual(container["image"], "crashhook:" + VERSION)
            self.assertIn("memory", container["resources"]["limits"])
            self.assertEqual(container["securityContext"], {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"], **({"add": added[container["name"]]}
                                                     if container["name"] in added else {})}})
            mounts = {mount["name"] for mount in container["volumeMounts"]}
            self.assertEqual("settings" in mounts, container["name"] == "install")
            used |= mounts
            command, *words = container["command"][1:]
            known = subprocess.run([os.path.join(os.path.dirname(BINARY), "crashhook"), command,
                                    "--help"], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
            for option in (word for word in words if word.startswith("--")):
                self.assertRegex(known, rf"(?m)^ +{option}\b")
        self.assertEqual(used, set(volumes))


if __name__ == "__main__":
    BINARY, FOLDER, VERSION = sys.argv[1:4]
    del sys.argv[1:4]
    unittest.main(verbosity=2)

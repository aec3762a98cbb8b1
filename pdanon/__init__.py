"""Release tables whose rows hold sets: anonymization of transaction data from inside pandas.

Importing the package registers ``df.txanon`` and ``series.itemset``.
"""

import sys

from pdanon.cli.signals import end_at_signals as _end_at_signals

_end_at_signals()  # before anything that takes time to import

# ruff: noqa: E402
from importlib import import_module
from typing import Any

from pdanon.accessors import ByPerson, by  # registers the accessors, too
from pdanon.algorithms.choice import anonymize
from pdanon.algorithms.items.apriori import apriori, direct, vpa
from pdanon.algorithms.items.cahd import cahd
from pdanon.algorithms.items.clump import clump, lcg
from pdanon.algorithms.items.coherence import coherence
from pdanon.algorithms.items.disassociate import disassociate
from pdanon.algorithms.items.hghs import hghs, mhghs
from pdanon.algorithms.items.local_suppression import local_suppression
from pdanon.algorithms.items.lra import lra, partition
from pdanon.algorithms.items.optimal import optimal
from pdanon.algorithms.items.pcta import coat, pcta, upcta
from pdanon.algorithms.items.ps_rules import ps_rules
from pdanon.algorithms.items.rho import suppress_control, td_control
from pdanon.algorithms.items.suppress_to_k import suppress_public, suppress_to_k
from pdanon.algorithms.preparation import Prepared, keep, prepare, start_from
from pdanon.algorithms.refinement import refine
from pdanon.algorithms.relational.global_recoding import full_subtree, incognito, top_down
from pdanon.algorithms.relational.groups import cluster, k_member, mondrian
from pdanon.algorithms.rt.rfirst import rfirst, tfirst
from pdanon.algorithms.rt.rum_bound import rum_bound, tum_bound
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.cli.policy import Policy
from pdanon.errors import (
    ColumnError,
    EmptiedWarning,
    FormatError,
    GuaranteeError,
    HierarchyError,
    IdentifierWarning,
    InfeasibleError,
    ItemsetDtypeError,
    NumbersWarning,
    ParameterError,
    PdanonError,
    PersonsWarning,
    ReleaseWarning,
    UselessWarning,
)
from pdanon.evaluation import metrics, plotting
from pdanon.evaluation.after import AfterReleases, after
from pdanon.evaluation.alternatives import alternatives
from pdanon.evaluation.comparison import compare, tradeoff
from pdanon.evaluation.fingerprint import fingerprint
from pdanon.evaluation.matches import thresholds
from pdanon.evaluation.metrics.assess import assess
from pdanon.evaluation.metrics.attack import Attack, attack
from pdanon.evaluation.metrics.bound import bound
from pdanon.evaluation.metrics.queries import Answers, Workload
from pdanon.evaluation.metrics.risk import breach, risk
from pdanon.evaluation.profile import Profile, profile
from pdanon.evaluation.readings import RawProfile
from pdanon.evaluation.verification import Verification, verify
from pdanon.guarantees import (
    Coherence,
    DisassociatedKm,
    KAnonymity,
    KKm,
    KLm,
    KmAnonymity,
    KMap,
    LmDiversity,
    PrivacyConstraints,
    PSRules,
    PublicK,
    RhoUncertainty,
    SensitiveGroups,
    TransactionalK,
    audit,
    constraints,
    utility,
)
from pdanon.guarantees.verdict import Audit
from pdanon.hierarchy import Hierarchy
from pdanon.io import datasets
from pdanon.io.forms import from_long, from_onehot, from_wide, to_long, to_onehot
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.text import from_json, from_text, read_csv, to_csv, to_text
from pdanon.itemsets.codes import as_itemsets
from pdanon.itemsets.mapping import apply_mapping
from pdanon.itemsets.threads import config, show_versions
from pdanon.recoding.bounds import Bound
from pdanon.recoding.reconstruction import reconstruct
from pdanon.recoding.result import Anonymized
from pdanon.recoding.views import Explanation

__all__ = [
    "AfterReleases",
    "Anonymized",
    "Answers",
    "Attack",
    "Audit",
    "Bound",
    "ByPerson",
    "Coherence",
    "ColumnError",
    "DisassociatedKm",
    "EmptiedWarning",
    "Explanation",
    "FormatError",
    "GuaranteeError",
    "Hierarchy",
    "HierarchyError",
    "IdentifierWarning",
    "InfeasibleError",
    "ItemsetDtypeError",
    "KAnonymity",
    "KKm",
    "KLm",
    "KMap",
    "KmAnonymity",
    "LmDiversity",
    "NumbersWarning",
    "PSRules",
    "ParameterError",
    "PdanonError",
    "PersonsWarning",
    "Policy",
    "Prepared",
    "PrivacyConstraints",
    "Profile",
    "PublicK",
    "RawProfile",
    "ReleaseWarning",
    "RhoUncertainty",
    "SensitiveGroups",
    "Transaction",
    "TransactionalK",
    "UselessWarning",
    "Verification",
    "Workload",
    "after",
    "alternatives",
    "anonymize",
    "apply_mapping",
    "apriori",
    "as_itemsets",
    "assess",
    "attack",
    "audit",
    "bound",
    "breach",
    "by",
    "cahd",
    "clump",
    "cluster",
    "coat",
    "coherence",
    "compare",
    "config",
    "constraints",
    "direct",
    "disassociate",
    "fingerprint",
    "from_json",
    "from_long",
    "from_onehot",
    "from_text",
    "from_wide",
    "full_subtree",
    "hghs",
    "incognito",
    "k_member",
    "keep",
    "lcg",
    "local_suppression",
    "lra",
    "mhghs",
    "mondrian",
    "optimal",
    "partition",
    "pcta",
    "prepare",
    "profile",
    "ps_rules",
    "read_csv",
    "read_parquet",
    "reconstruct",
    "refine",
    "rfirst",
    "risk",
    "rum_bound",
    "show_versions",
    "start_from",
    "suppress_control",
    "suppress_public",
    "suppress_to_k",
    "td_control",
    "tfirst",
    "thresholds",
    "to_csv",
    "to_long",
    "to_onehot",
    "to_parquet",
    "to_text",
    "top_down",
    "tradeoff",
    "tum_bound",
    "upcta",
    "utility",
    "verify",
    "vpa",
]


def __getattr__(name: str) -> Any:
    """Import on first use: what needs Dask, and the version."""
    if name == "dask":
        return import_module("pdanon.dask")
    if name == "__version__":
        return import_module("importlib.metadata").version("pdanon")
    if name == "set_threads":
        raise AttributeError("pdanon has no set_threads: call pdanon.config(threads=n)")
    raise AttributeError(f"module 'pdanon' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]


# Public modules that live in packages: `import pdanon.constraints` finds them by the name they have here.
for _name, _module in {
    "constraints": constraints,
    "datasets": datasets,
    "metrics": metrics,
    "metrics.classes": metrics.classes,
    "metrics.disclosure": metrics.disclosure,
    "metrics.meaning": metrics.meaning,
    "metrics.patterns": metrics.patterns,
    "metrics.reconstruction": metrics.reconstruction,
    "plotting": plotting,
    "utility": utility,
}.items():
    sys.modules[f"pdanon.{_name}"] = _module

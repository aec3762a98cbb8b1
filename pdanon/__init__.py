"""Release tables whose rows hold sets: anonymization of transaction data from inside pandas.

Importing the package registers ``df.txanon`` and ``series.itemset``.
"""

from pdanon.starting import end_at_interrupts as _end_at_interrupts

_end_at_interrupts()  # before what takes long to import

# ruff: noqa: E402
from pdanon import accessors as _accessors  # noqa: F401  (registers the accessors)
from pdanon import constraints, utility
from pdanon.algorithms.apriori import apriori
from pdanon.algorithms.clump import clump
from pdanon.algorithms.coat import coat
from pdanon.algorithms.coherence import coherence
from pdanon.algorithms.direct import direct
from pdanon.algorithms.hghs import hghs
from pdanon.algorithms.lra import lra
from pdanon.algorithms.mhghs import mhghs
from pdanon.algorithms.optimal import optimal
from pdanon.algorithms.partition import partition
from pdanon.algorithms.pcta import pcta
from pdanon.algorithms.suppress_public import suppress_public
from pdanon.algorithms.suppress_to_k import suppress_to_k
from pdanon.algorithms.upcta import upcta
from pdanon.algorithms.vpa import vpa
from pdanon.choice import anonymize
from pdanon.comparison import compare
from pdanon.errors import (
    ColumnError,
    FormatError,
    GuaranteeError,
    HierarchyError,
    IdentifierWarning,
    InfeasibleError,
    ItemsetDtypeError,
    ParameterError,
    PdanonError,
)
from pdanon.explain import Explanation
from pdanon.groups import lcg
from pdanon.guarantees import (
    Coherence,
    KAnonymity,
    KKm,
    KLm,
    KmAnonymity,
    LmDiversity,
    PrivacyConstraints,
    PublicK,
    TransactionalK,
    audit,
)
from pdanon.hierarchy import Hierarchy
from pdanon.io import read_csv, read_parquet, to_csv, to_parquet
from pdanon.itemsets import as_itemsets
from pdanon.mapping import apply_mapping
from pdanon.metrics.attack import Attack, attack
from pdanon.metrics.queries import Answers, Workload
from pdanon.metrics.risk import risk
from pdanon.policy import Policy
from pdanon.refinement import refine
from pdanon.relational.cluster import cluster
from pdanon.relational.full_subtree import full_subtree
from pdanon.relational.incognito import incognito
from pdanon.relational.k_member import k_member
from pdanon.relational.mondrian import mondrian
from pdanon.relational.top_down import top_down
from pdanon.result import Anonymized
from pdanon.rt.rfirst import rfirst
from pdanon.rt.rum_bound import rum_bound
from pdanon.rt.tfirst import tfirst
from pdanon.rt.tum_bound import tum_bound
from pdanon.verdict import Audit

__all__ = [
    "Anonymized",
    "Answers",
    "Attack",
    "Audit",
    "Coherence",
    "ColumnError",
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
    "KmAnonymity",
    "LmDiversity",
    "ParameterError",
    "PdanonError",
    "Policy",
    "PrivacyConstraints",
    "PublicK",
    "TransactionalK",
    "Workload",
    "anonymize",
    "apply_mapping",
    "apriori",
    "as_itemsets",
    "attack",
    "audit",
    "clump",
    "cluster",
    "coat",
    "coherence",
    "compare",
    "constraints",
    "direct",
    "full_subtree",
    "hghs",
    "incognito",
    "k_member",
    "lcg",
    "lra",
    "mhghs",
    "mondrian",
    "optimal",
    "partition",
    "pcta",
    "read_csv",
    "read_parquet",
    "refine",
    "rfirst",
    "risk",
    "rum_bound",
    "suppress_public",
    "suppress_to_k",
    "tfirst",
    "to_csv",
    "to_parquet",
    "top_down",
    "tum_bound",
    "upcta",
    "utility",
    "vpa",
]

__version__ = "0.1.0"

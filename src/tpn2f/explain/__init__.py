"""What can be seen inside a trained model, as numbers: of a question, of a split, of the decoder's algebra."""

from tpn2f.explain.analysis import Analysis, analyse
from tpn2f.explain.groups import GroupedWord, WordGroup, WordGroups, group_words
from tpn2f.explain.purity import Agreement, agreement
from tpn2f.explain.question import THRESHOLD, QuestionMap, Selection, explain_question
from tpn2f.explain.relations import Clustering, RelationMap, Spread, TPRMeasure, measure_tpr, relation_vectors

__all__ = [
    "THRESHOLD",
    "Agreement",
    "Analysis",
    "Clustering",
    "GroupedWord",
    "QuestionMap",
    "RelationMap",
    "Selection",
    "Spread",
    "TPRMeasure",
    "WordGroup",
    "WordGroups",
    "agreement",
    "analyse",
    "explain_question",
    "group_words",
    "measure_tpr",
    "relation_vectors",
]

# The names of this room, each loaded at its first use.
from .cases import (
    CaseReport as CaseReport,
)
from .cases import (
    run_cases as run_cases,
)
from .decide import (
    evaluate as evaluate,
)
from .decide import (
    evaluate_fetch as evaluate_fetch,
)
from .decide import (
    evaluate_read as evaluate_read,
)
from .decide import (
    evaluate_search as evaluate_search,
)
from .decide import (
    evaluate_tool as evaluate_tool,
)
from .decide import (
    evaluate_write as evaluate_write,
)
from .explanation import (
    Explanation as Explanation,
)
from .explanation import (
    explain as explain,
)
from .judging import judge as judge
from .load import (
    load_file as load_file,
)
from .load import (
    load_rules as load_rules,
)
from .load import (
    real_path as real_path,
)
from .matching import RealPath as RealPath
from .model import (
    Complete as Complete,
)
from .model import (
    Decision as Decision,
)
from .model import (
    Match as Match,
)
from .model import (
    Redirect as Redirect,
)
from .model import (
    RuleFileError as RuleFileError,
)
from .model import (
    RuleSource as RuleSource,
)
from .model import (
    Subject as Subject,
)
from .model import (
    Verdict as Verdict,
)
from .path_patterns import (
    HiddenPaths as HiddenPaths,
)
from .path_patterns import (
    find_hidden_paths as find_hidden_paths,
)
from .rules import (
    Rule as Rule,
)
from .rules import (
    Rules as Rules,
)

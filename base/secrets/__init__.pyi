# The names of this room, each loaded at its first use.
from .detector import Secret as Secret
from .detector import find_divided as find_divided
from .detector import find_form as find_form
from .detector import find_secrets as find_secrets
from .detector import redact as redact
from .secret_names import is_secret_path as is_secret_path
from .secret_names import kind_of as kind_of

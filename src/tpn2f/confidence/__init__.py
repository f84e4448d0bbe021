"""How far a confidence can be trusted: answers judged on dev, one temperature, signals measured on sources left out."""

from tpn2f.confidence.choosing import Considered as Considered
from tpn2f.confidence.choosing import choose_outside as choose_outside
from tpn2f.confidence.choosing import find_choice as find_choice
from tpn2f.confidence.judging import consider as consider
from tpn2f.confidence.judging import half as half
from tpn2f.confidence.judging import halves as halves
from tpn2f.confidence.judging import judge as judge
from tpn2f.confidence.judging import make_memory as make_memory
from tpn2f.confidence.judging import write_calibration as write_calibration
from tpn2f.confidence.sources import LeftOut as LeftOut
from tpn2f.confidence.sources import Trust as Trust
from tpn2f.confidence.sources import find_trust as find_trust
from tpn2f.confidence.sources import measure_sources as measure_sources
from tpn2f.confidence.temperature import Calibration as Calibration
from tpn2f.confidence.temperature import Judged as Judged
from tpn2f.confidence.temperature import answered as answered
from tpn2f.confidence.temperature import calibrate as calibrate
from tpn2f.confidence.temperature import expected_error as expected_error
from tpn2f.confidence.temperature import facts as facts
from tpn2f.confidence.temperature import find_threshold as find_threshold
from tpn2f.confidence.temperature import fit_temperature as fit_temperature
from tpn2f.confidence.temperature import reliability as reliability

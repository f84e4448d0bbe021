"""Numbers as people write them: numerals and words, read for any language that has numbers."""

from tpn2f.numbers.spoken import in_digits as in_digits
from tpn2f.numbers.spoken import in_words as in_words
from tpn2f.numbers.spoken import spoken_number as spoken_number

"""Programs of AlgoLisp's language with an input and what must come out: a value, or words of the error.

Both evaluators are held to this table. Every function of the language has a line here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Fails:
    """An ExecutionError whose message has these words."""

    words: str


@dataclass(frozen=True)
class Exceeds:
    """A LimitError whose message has these words."""

    words: str


A = {"a": [3, 1, 2], "b": 5, "c": [], "s": "one two  three", "w": ["ab", "c"]}

FACTORIAL = "(lambda1 (if (<= arg1 1) 1 (* (self (- arg1 1)) arg1)))"
FIBONACCI = "(lambda1 (if (<= arg1 2) 1 (+ (self (- arg1 1)) (self (- arg1 2)))))"
ENDLESS = "(lambda1 (self (+ arg1 1)))"

PROGRAMS: list[tuple[str, object]] = [
    # numbers
    ("(+ b 2)", 7),
    ("(+ b a)", Fails("+ takes numbers; got a number and an array")),
    ("(+ true 1)", Fails("+ takes numbers; got a boolean")),
    ("(- 1 b)", -4),
    ("(* b b)", 25),
    ("(/ 40 b)", 8),
    ("(/ (- 0 7) 2)", -4),
    ("(/ b 0)", Fails("division by zero")),
    ("(/ (sqrt 2) 0)", Fails("division by zero")),
    ("(% (- 0 7) 10)", 3),
    ("(% b 0)", Fails("division by zero")),
    ("(pow 2 10)", 1024),
    ("(pow 0 0)", 1),
    ("(pow 2 (- 0 1))", 0.5),
    ("(pow 0 (- 0 1))", Fails("not a finite number")),
    ("(pow (- 0 8) (sqrt 2))", Fails("not a finite number")),
    ("(pow (- 0 1) 1000000001)", -1),
    ("(sqrt 2)", 2**0.5),
    ("(sqrt (- 0 1))", Fails("sqrt: the result is not a finite number")),
    ("(sqrt (pow 10 1000))", Fails("not a finite number")),
    ("(floor (sqrt 10))", 3),
    ("(floor (- 0 (sqrt 10)))", -3),
    ("(floor b)", 5),
    ("(square (- 0 b))", 25),
    ("(abs (- 0 b))", 5),
    ("(abs (- 0 (sqrt 1)))", 1.0),
    ("(min b 2)", 2),
    ("(max b 10)", 10),
    ("(max b (sqrt 100))", 10.0),
    ("(max a b)", Fails("max takes two arguments of type int")),
    ("(min inf b)", 5),
    ("(if true inf 1)", Fails("not a finite number")),
    ("(+ inf 1)", Fails("not a finite number")),
    ("(map (range 0 20) is_prime)", [n in (2, 3, 5, 7, 11, 13, 17, 19) for n in range(20)]),
    ("(is_prime (- 0 7))", False),
    ("(is_prime 1000000007)", True),
    ("(is_prime 3215031751)", False),
    ("(is_prime 618970019642690137449562111)", Exceeds("bits")),
    ("(is_prime (sqrt 4))", Fails("is_prime takes a whole number")),
    ("(digits 1024)", [1, 0, 2, 4]),
    ("(digits (- 0 305))", [3, 0, 5]),
    ("(digits 0)", [0]),
    ("(digits a)", Fails("digits takes a whole number")),
    # comparing and logic
    ("(< 1 2)", True),
    ("(> 1 2)", False),
    ("(<= 2 2)", True),
    ("(>= 1 2)", False),
    ("(< (sqrt 2) 2)", True),
    ('(< "" "z")', True),
    ('(< 1 "z")', Fails("< takes two numbers or two strings; got a number and a string")),
    ("(< a a)", Fails("< takes two numbers or two strings; got an array and an array")),
    ("(== a (slice a 0 10))", True),
    ("(== a (reverse a))", False),
    ("(== 1 true)", False),
    ("(== 1 (sqrt 1))", True),
    ("(== (map a digits) (map a digits))", True),
    ("(== + +)", Fails("no functions")),
    ('(!= "z" "")', True),
    ("(! true)", False),
    ("(! 1)", Fails("! takes a boolean; got a number")),
    ("(&& true false)", False),
    ("(|| true false)", True),
    ("(|| true (< 1 (head c)))", Fails("head: the array is empty")),
    ("(&& 1 true)", Fails("&& takes two arguments of type bool")),
    ("(if (< b 2) (head c) b)", 5),
    ("(if 1 2 0)", Fails("if takes a boolean as its condition; got a number")),
    # arrays
    ("(len a)", 3),
    ("(len s)", Fails("len takes an array; got a string")),
    ("(head a)", 3),
    ("(head c)", Fails("head: the array is empty")),
    ("(tail a)", [1, 2]),
    ("(tail c)", []),
    ("(deref a 2)", 2),
    ("(deref a 3)", Fails("outside of an array of 3 elements")),
    ("(deref a (- 0 1))", Fails("outside of an array of 3 elements")),
    ("(deref a (sqrt 1))", Fails("deref takes an array and a whole number")),
    ("(int-deref a 0)", 3),
    ("(int-deref a 10)", Fails("int-deref: the index is outside")),
    ("(slice a 1 2)", [1]),
    ("(slice a (- 0 2) 2)", [3, 1]),
    ("(slice a 0 (- 0 1))", [3, 1]),
    ("(slice a 2 1)", []),
    ("(sort a)", [1, 2, 3]),
    ("(sort w)", ["ab", "c"]),
    ("(sort (append w 1))", Fails("sort takes an array of numbers or of strings")),
    ("(reverse a)", [2, 1, 3]),
    ("(range 2 b)", [2, 3, 4]),
    ("(range b 2)", []),
    ("(range 0 (+ 1 (sqrt 4)))", [0, 1, 2]),
    ("(range 0 inf)", Fails("range takes finite numbers")),
    ("(append a b)", [3, 1, 2, 5]),
    ("(array-new int)", []),
    ("(append (array-new int) a)", [[3, 1, 2]]),
    ("(contains a 2)", True),
    ("(contains a b)", False),
    ('(contains w "z")', False),
    ("(is_sorted a)", False),
    ("(is_sorted (sort a))", True),
    ("(is_sorted c)", True),
    ("(map a square)", [9, 1, 4]),
    ("(map a 1)", Fails("map takes a function; got a number")),
    ("(map a +)", Fails("map takes a function of 1 argument(s); + has 2")),
    ("(filter a (partial1 2 >=))", [3, 2]),
    ("(filter a square)", Fails("filter takes a function that gives booleans; it gave a number")),
    ("(reduce a 0 -)", -6),
    ("(reduce c b +)", 5),
    ("(reduce a 0 (lambda2 (- arg2 arg1)))", 4),
    # strings
    ("(strlen s)", 14),
    ("(str_index 1 s)", "n"),
    ("(str_index (- 0 1) s)", "e"),
    ("(str_index 40 s)", Fails("outside of a string of 14 characters")),
    ('(str_concat "z" s)', "zone two  three"),
    ('(str_concat "z" 1)', Fails("str_concat takes a string; got a number")),
    ('(str_split s " ")', ["one", "two", "three"]),
    ('(str_split s "")', Fails("the separator is empty")),
    ('(str_min s "z")', "one two  three"),
    ('(reduce w "" str_max)', "c"),
    # functions and scope
    ("(invoke1 (lambda1 (+ arg1 1)) b)", 6),
    ("(map a (partial0 b -))", [2, 4, 3]),
    ("(map a (partial1 b -))", [-2, -4, -3]),
    ("(invoke1 (partial1 1 (partial2 2 slice)) a)", [1]),
    ("(map a (partial0 1 square))", Fails("partial0 takes a function of 2 or more arguments")),
    ("(filter a (combine ! is_prime))", [1]),
    ("(reduce a 0 (combine square +))", ((3**2 + 1) ** 2 + 2) ** 2),
    ("(map a (lambda1 (reduce a 0 (lambda2 (+ arg1 arg2)))))", [6, 6, 6]),
    ("(reduce a 0 (lambda2 (+ arg1 (invoke1 (lambda1 (* arg1 arg2)) 10))))", 60),
    ("(map a (lambda1 (len (filter a (partial0 arg1 <)))))", [0, 2, 1]),
    ("(map a (lambda1 (+ arg1 (reduce a 0 max))))", [6, 4, 5]),
    (f"(map (range 0 6) {FACTORIAL})", [1, 1, 2, 6, 24, 120]),
    (f"(map (range 1 10) {FIBONACCI})", [1, 1, 2, 3, 5, 8, 13, 21, 34]),
    ("(invoke1 (lambda1 (if (== arg1 0) a (map (self (- arg1 1)) square))) 2)", [81, 1, 16]),
    ("(reduce a 0 (lambda2 (if (> arg1 arg2) (self arg2 arg1) (+ arg1 arg2))))", 6),
    ("(invoke1 (lambda1 (map (filter a (partial1 arg1 <)) (if (> arg1 2) self digits))) 2)", [[1]]),
    ("(if true square 1)", Fails("the result is a function")),
    ("(if true int 1)", Fails("the result is a type")),
    ("(append a +)", Fails("the result is a function")),
    # dictionaries
    ("(dict-new int int)", {}),
    ("(dict-insert (dict-new int int) b 2)", {5: 2}),
    ("(dict-keys (dict-insert (dict-insert (dict-new int int) b 2) 1 1))", [1, 5]),
    ("(dict-insert a b 2)", Fails("dict-insert takes a dictionary; got an array")),
    # what cannot run at all
    ("(+ b x)", Fails("no argument or function 'x' (the arguments are a, b, c, s, w)")),
    ("(frobnicate b)", Fails("no function 'frobnicate'")),
    ("(+ b)", Fails("+ takes 2 argument(s); got 1")),
    ("(+ arg1 1)", Fails("arg1 is used outside of a lambda")),
    ("(map a (lambda1 arg2))", Fails("arg2 is used outside of a lambda")),
    ("(self 1)", Fails("no function 'self' here")),
    ("(reduce a 0 (lambda2 (self arg1)))", Fails("self takes 2 argument(s); got 1")),
    ("(+ if 1)", Fails("no argument or function 'if'")),
    # limits
    ("(pow 1000000000 1000000000)", Exceeds("4096 bits")),
    ("(pow 2 4095)", 2**4095),
    ("(pow 2 4096)", Exceeds("4096 bits")),
    ("(* (pow 2 2048) (pow 2 2048))", Exceeds("4096 bits")),
    ("(- (- 0 (pow 2 4095)) (pow 2 4095))", Exceeds("4096 bits")),
    ("(range 0 1000000000)", Exceeds("10000 elements")),
    ("(reduce (range 0 40) s (lambda2 (str_concat arg1 arg1)))", Exceeds("10000 characters")),
    ("(map (range 0 1000) (lambda1 (range arg1 1000)))", Exceeds("steps")),
    (f"(invoke1 {ENDLESS} 0)", Exceeds("depth limit")),
    (f"(invoke1 {FIBONACCI} 40)", Exceeds("steps")),
    (f"(invoke1 {FACTORIAL} 110)", math.factorial(110)),
    ("(invoke1 (reduce (range 0 1000) square (lambda2 (combine arg1 abs))) b)", Exceeds("depth limit")),
    ("(invoke1 (reduce (range 0 1000) square (lambda2 (partial0 arg1 invoke1))) b)", Exceeds("depth limit")),
    ("(reduce (range 0 40) a (lambda2 (append (array-new int) arg1)))", Exceeds("nested")),
    ("(map (range 0 1000) (lambda1 a))", [[3, 1, 2]] * 1000),
]

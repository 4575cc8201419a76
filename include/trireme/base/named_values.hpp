// The values of an enumeration with their words and meanings: one table for options, help, records and
// messages.
#pragma once

#include <cstddef>

#include "trireme/base/error.hpp"

namespace trireme {

template <class Value>
struct NamedValue {
    const char* word;
    Value value;
    const char* meaning;  // a line of help
};

// The word of `value`, which the table must hold.
template <class Value, std::size_t count>
const char* word_of(const NamedValue<Value> (&table)[count], Value value) {
    for (const NamedValue<Value>& each : table)
        if (each.value == value) return each.word;
    throw BugError("a value has no word in its table");
}

}  // namespace trireme

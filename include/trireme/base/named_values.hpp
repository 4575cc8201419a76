// Tables of enumerations: each value with its word and its meaning. One table serves options, help, records
// and messages.
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

// Returns the word of `value`. Throws BugError if the table does not hold it.
template <class Value, std::size_t count>
const char* word_of(const NamedValue<Value> (&table)[count], Value value) {
    for (const NamedValue<Value>& each : table)
        if (each.value == value) return each.word;
    throw BugError("a value has no word in its table");
}

}  // namespace trireme

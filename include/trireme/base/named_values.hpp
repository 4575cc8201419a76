// Tables that give each value of an enumeration its name and its meaning. Options, help, records and messages
// use the same table.
#pragma once

#include <cstddef>

#include "trireme/base/error.hpp"

namespace trireme {

template <class Value>
struct NamedValue {
    const char* name;  // in options, records and messages
    Value value;
    const char* meaning;  // for the help of an option
};

// Returns the name of `value`. Throws BugError if the table does not contain the value.
template <class Value, std::size_t count>
const char* find_name(const NamedValue<Value> (&table)[count], Value value) {
    for (const NamedValue<Value>& each : table)
        if (each.value == value) return each.name;
    throw BugError("an enumerator is missing from its table of names");
}

}  // namespace trireme

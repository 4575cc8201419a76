// Mutable state with static storage duration, found in the symbol tables of static libraries.
#pragma once

#include <string>
#include <vector>

namespace trireme::layering {

struct Symbol {
    std::string library;  // file name: libtrireme_data.a
    std::string object;   // its member: corpus.cpp.o
    std::string name;     // demangled
    std::string section;  // .bss, .data, .tbss, ...
};

// Returns the objects, thread-locals and guard variables of a library that lie in writable sections. Constants
// lie in .rodata, or in .data.rel.ro if they hold addresses. Symbols that compilers and other libraries put
// there are ignored. Throws std::runtime_error if nm fails.
std::vector<Symbol> find_mutable_symbols(const std::string& nm, const std::string& library);

}  // namespace trireme::layering

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

// The objects, thread-locals and guard variables of a library that lie in writable sections. Constants do not:
// they are in .rodata, or in .data.rel.ro where they hold addresses. Left out is what compiler and C++ library
// put there themselves. Throws std::runtime_error where nm fails.
std::vector<Symbol> mutable_symbols(const std::string& nm, const std::string& library);

}  // namespace trireme::layering

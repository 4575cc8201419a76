#include "trireme/archive/safetensors.hpp"

#include <algorithm>
#include <array>

#include "trireme/base/error.hpp"

namespace trireme::archive {
namespace {

struct TypeFacts {
    const char* name;
    std::size_t bytes;
};

// One entry per StoredType, in the order of the enumeration.
constexpr std::array<TypeFacts, 13> stored_types{{{"F64", 8},
                                                  {"F32", 4},
                                                  {"F16", 2},
                                                  {"BF16", 2},
                                                  {"I64", 8},
                                                  {"I32", 4},
                                                  {"I16", 2},
                                                  {"I8", 1},
                                                  {"U64", 8},
                                                  {"U32", 4},
                                                  {"U16", 2},
                                                  {"U8", 1},
                                                  {"BOOL", 1}}};

const TypeFacts& find_facts(StoredType type) { return stored_types[static_cast<std::size_t>(type)]; }

}  // namespace

const char* to_string(StoredType type) { return find_facts(type).name; }
std::size_t byte_size(StoredType type) { return find_facts(type).bytes; }

std::optional<StoredType> parse_stored_type(std::string_view name) {
    const auto* const at = std::find_if(stored_types.begin(), stored_types.end(),
                                        [&](const TypeFacts& facts) { return facts.name == name; });
    if (at == stored_types.end()) return std::nullopt;
    return static_cast<StoredType>(at - stored_types.begin());
}

}  // namespace trireme::archive

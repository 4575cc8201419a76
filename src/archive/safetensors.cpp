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

// Has the order of StoredType.
constexpr std::array<TypeFacts, 13> types{{{"F64", 8},
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

const TypeFacts& facts_of(StoredType type) { return types[static_cast<std::size_t>(type)]; }

}  // namespace

const char* name_of(StoredType type) { return facts_of(type).name; }
std::size_t bytes_of(StoredType type) { return facts_of(type).bytes; }

std::optional<StoredType> stored_type_named(std::string_view name) {
    const auto* const at =
        std::find_if(types.begin(), types.end(), [&](const TypeFacts& facts) { return facts.name == name; });
    if (at == types.end()) return std::nullopt;
    return static_cast<StoredType>(at - types.begin());
}

}  // namespace trireme::archive

// No room keeps mutable state with static storage duration. This lets many simulated ranks share a process.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "layering/symbols.hpp"

namespace trireme::layering {
namespace {

// The sanitizers add writable bookkeeping of their own to every object.
#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// Returns the paths of libraries that the build wrote, one per line.
std::vector<std::string> room_libraries() {
    std::ifstream in(TRIREME_ROOM_LIBRARIES);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

bool has(const std::vector<Symbol>& found, const std::string& name, const std::string& section) {
    return std::any_of(found.begin(), found.end(), [&](const Symbol& symbol) {
        return symbol.name.find(name) != std::string::npos &&
               symbol.section.compare(0, section.size(), section) == 0;
    });
}

TEST(Globals, AreNeverMutable) {
    if (sanitized) GTEST_SKIP() << "the sanitizers add state of their own; the release build checks this";
    const std::vector<std::string> libraries = room_libraries();

    ASSERT_FALSE(libraries.empty());
    for (const std::string& library : libraries) {
        for (const Symbol& symbol : find_mutable_symbols(TRIREME_NM, library)) {
            ADD_FAILURE() << symbol.library << ", " << symbol.object << ": " << symbol.name
                          << " lies in writable " << symbol.section
                          << "; pass it as an argument, or make it constexpr";
        }
    }
}

TEST(Globals, AreFoundIfMutableAndIgnoredIfConstant) {
    if (sanitized) GTEST_SKIP() << "the sanitizers add state of their own; the release build checks this";

    const std::vector<Symbol> found = find_mutable_symbols(TRIREME_NM, TRIREME_PLANTED_LIBRARY);

    EXPECT_TRUE(has(found, "mutable_global", ".data"));
    EXPECT_TRUE(has(found, "mutable_zero", ".bss"));
    EXPECT_TRUE(has(found, "mutable_string", ".data"));
    EXPECT_TRUE(has(found, "mutable_per_thread", ".tbss"));
    EXPECT_TRUE(has(found, "::mutable_once", ".bss"));
    EXPECT_TRUE(has(found, "guard variable for", ".bss"));
    EXPECT_TRUE(has(found, "::mutable_count", ".bss"));
    for (const Symbol& symbol : found) {
        EXPECT_EQ(symbol.object, "mutable_state.cpp.o");
        EXPECT_NE(symbol.name.find("mutable_"), std::string::npos) << symbol.name << " in " << symbol.section;
    }
}

TEST(Globals, CannotBeReadFromAMissingLibrary) {
    EXPECT_THROW(find_mutable_symbols(TRIREME_NM, "/nowhere/libtrireme.a"), std::runtime_error);
}

}  // namespace
}  // namespace trireme::layering

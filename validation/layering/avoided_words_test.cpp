// The number of avoided words in each source may only fall. A new source must have none. The line of a renamed
// source is renamed in avoided_words.txt.
#include "layering/avoided_words.hpp"

#include <gtest/gtest.h>

#include "layering/planted_tree.hpp"

namespace trireme::layering {
namespace {

const std::string committed = TRIREME_SOURCE_DIR "/validation/layering/avoided_words.txt";
const std::string counted = TRIREME_COUNTS;  // the test writes its counts there

TEST(AvoidedWords, HaveTheCommittedNumbers) {
    const auto before = read_counts(committed);
    const auto now = count_avoided_below(TRIREME_SOURCE_DIR);
    write_counts(counted, now);

    for (const auto& [path, count] : now) {
        const std::size_t max = before.contains(path) ? before.at(path) : 0;
        EXPECT_LE(count, max) << path << ": use the words of docs/design/glossary.md";
    }
    for (const auto& [path, count] : before) {
        const std::size_t found = now.contains(path) ? now.at(path) : 0;
        EXPECT_GE(found, count) << path << " has fewer now: cp " << counted << " " << committed;
    }
}

TEST(AvoidedWords, AreCountedInCommentsAndNames) {
    EXPECT_EQ(count_avoided("int a;  // Whether it is told\n\n// Of a rank that is idle.\n"), 3U);
    EXPECT_EQ(count_avoided("// The number\n// of steps. That is all.\n"), 0U);
    EXPECT_EQ(count_avoided("int most_bytes; int bytes_of_micro_batch; // nobody\n"), 3U);
    EXPECT_EQ(count_avoided("const char* a = \"// Of most_bytes, behind\";\n"), 0U);
}

TEST(AvoidedWords, AreListedByPath) {
    const PlantedTree tree;
    tree.plant("src/data/corpus.cpp", "// Likewise\n");
    tree.plant("src/data/batch.cpp", "// Returns the batch.\n");

    const auto counts = count_avoided_below(tree.root());

    EXPECT_EQ(counts, (std::map<std::string, std::size_t>{{"src/data/corpus.cpp", 2}}));
}

}  // namespace
}  // namespace trireme::layering

// The sources contain none of the words that docs/design/glossary.md avoids.
#include "layering/avoided_words.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "layering/planted_tree.hpp"

namespace trireme::layering {
namespace {

using Findings = std::vector<std::string>;

AvoidedWords read_glossary() {
    std::ifstream in(TRIREME_SOURCE_DIR "/docs/design/glossary.md");
    std::ostringstream text;
    text << in.rdbuf();
    return read_avoided_words(text.str());
}

const AvoidedWords some{.phrases = {"nobody", "so many"}, .names = {"most_*", "*_twin"}, .openings = {"Of"}};

TEST(AvoidedWords, AreReadFromTheGlossary) {
    const AvoidedWords avoided = read_avoided_words(
        "# Glossary\n\n| told | said |\n|---|---|\n| x | y |\n\n## Words to avoid\n\nText.\n\n| avoid | write "
        "|\n|---|---|\n"
        "| nobody, so many | no rank |\n| `most_*`, `*_twin` | `max_` |\n| Of ... | a subject |\n\n| a | b "
        "|\n");

    EXPECT_EQ(avoided.phrases, some.phrases);
    EXPECT_EQ(avoided.names, some.names);
    EXPECT_EQ(avoided.openings, some.openings);
}

TEST(AvoidedWords, AreAbsentFromAllSources) {
    const AvoidedWords avoided = read_glossary();

    EXPECT_GT(avoided.phrases.size(), 10U);
    EXPECT_GT(avoided.names.size(), 3U);
    EXPECT_GT(avoided.openings.size(), 3U);
    EXPECT_EQ(find_avoided_words_below(avoided, TRIREME_SOURCE_DIR), Findings{})
        << "docs/design/glossary.md lists better words";
}

TEST(AvoidedWords, AreFoundInCommentsAndNames) {
    EXPECT_EQ(find_avoided_words(some, "int a;  // Nobody waits.\n\n// Of a rank with so many\n// Of\n"),
              (Findings{"1: nobody", "3: Of ...", "3: so many"}));
    EXPECT_EQ(find_avoided_words(
                  some, "int most_bytes = a_twin;\nint almost_all; // so\n\n// many most_ so\n// many\n"),
              (Findings{"1: most_bytes", "1: a_twin", "5: so many"}));
}

TEST(AvoidedWords, AreAllowedInLiteralsAndCode) {
    EXPECT_EQ(find_avoided_words(some, "const char* a = \"// Of most_bytes, nobody\";  // `nobody`\n"),
              Findings{});
}

TEST(AvoidedWords, AreFoundByPath) {
    const PlantedTree tree;
    tree.plant("src/data/corpus.cpp", "\n// nobody\n");
    tree.plant("src/data/batch.cpp", "// Returns the batch.\n");

    EXPECT_EQ(find_avoided_words_below(some, tree.root()), Findings{"src/data/corpus.cpp:2: nobody"});
}

}  // namespace
}  // namespace trireme::layering

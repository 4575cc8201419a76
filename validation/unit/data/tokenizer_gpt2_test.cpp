// Tests GPT-2's own vocabulary if the test data are available.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "trireme/data/tokenizer.hpp"

namespace trireme::data {
namespace {

namespace fs = std::filesystem;

class Gpt2 : public testing::Test {
protected:
    void SetUp() override {
        const char* folder = std::getenv("TRIREME_TEST_DATA");
        if (folder == nullptr)
            GTEST_SKIP() << "TRIREME_TEST_DATA is not set: GPT-2's vocabulary was not tested";
        data_ = folder;
    }

    fs::path data_;
};

TEST_F(Gpt2, MatchesTheReferenceIdsInEveryCase) {
    const Tokenizer tokenizer = Tokenizer::read_gpt2(data_ / "gpt2_bpe");
    std::ifstream cases(data_ / "tokenizer_cases.jsonl");
    std::size_t count = 0;
    for (std::string line; std::getline(cases, line); ++count) {
        const nlohmann::json row = nlohmann::json::parse(line);
        const std::string text = row["text"];
        const std::vector<std::uint32_t> ids = row["ids"];

        EXPECT_EQ(tokenizer.encode(text), ids) << "line " << count + 1 << ": " << text;
        EXPECT_EQ(tokenizer.decode(ids), text) << "line " << count + 1;
    }
    EXPECT_EQ(count, 380u);
}

TEST_F(Gpt2, HasItsNameVocabularySizeAndEndToken) {
    const Tokenizer tokenizer = parse_tokenizer_option("gpt2:" + (data_ / "gpt2_bpe").string());

    EXPECT_EQ(tokenizer.name(), "gpt2");
    EXPECT_EQ(tokenizer.vocabulary_size(), 50257u);
    EXPECT_EQ(tokenizer.find_end_token(), 50256u);
}

TEST_F(Gpt2, IsTheSameTokenizerFromEveryKindOfFile) {
    const Tokenizer tokenizer = Tokenizer::read_gpt2(data_ / "gpt2_bpe");
    const fs::path folder = fs::path(testing::TempDir()) / "trireme_gpt2_kinds";
    fs::create_directories(folder / "hugging_face");
    fs::copy_file(data_ / "gpt2_bpe/encoder.json", folder / "vocab.json", fs::copy_options::overwrite_existing);
    fs::copy_file(data_ / "gpt2_bpe/vocab.bpe", folder / "merges.txt", fs::copy_options::overwrite_existing);
    std::ofstream(folder / "hugging_face/tokenizer.json") << tokenizer.to_bytes();

    EXPECT_EQ(Tokenizer::read_gpt2(folder).compute_hash(), tokenizer.compute_hash());
    EXPECT_EQ(Tokenizer::read_gpt2(folder / "hugging_face").compute_hash(), tokenizer.compute_hash());
    EXPECT_EQ(parse_tokenizer_option((folder / "hugging_face/tokenizer.json").string()).compute_hash(),
              tokenizer.compute_hash());
    EXPECT_EQ(Tokenizer::from_bytes(tokenizer.to_bytes()).name(), "gpt2");
    fs::remove_all(folder);
}

TEST_F(Gpt2, EncodesAMegabyteWithoutWordBoundaries) {
    const Tokenizer tokenizer = Tokenizer::read_gpt2(data_ / "gpt2_bpe");
    const std::string text(1 << 20, 'a');

    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

}  // namespace
}  // namespace trireme::data

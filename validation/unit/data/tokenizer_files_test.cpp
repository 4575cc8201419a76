// Tests which files are accepted as GPT-2 style tokenizers, and the message for all others.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"
#include "unit/data/tokenizer_sample.hpp"

namespace trireme::data {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns a tokenizer of 256 bytes; "ab" 256, "aab" 257 and " aab" 258 by three merges; "<|endoftext|>" 259.
json small_file() {
    const std::vector<std::string> texts{"aab aab aab ab"};
    return json::parse(Tokenizer::train(texts, 260).to_bytes());
}

std::string refusal_of(const std::string& text) {
    try {
        Tokenizer::from_bytes(text);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "accepted";
}
std::string refusal_of(const json& file) { return refusal_of(file.dump()); }

// Returns small_file() with the value at a JSON pointer replaced.
json changed(const char* pointer, const json& value) {
    json file = small_file();
    file[json::json_pointer(pointer)] = value;
    return file;
}

constexpr const char* only_gpt2 = "; Trireme reads only byte-level BPE in the style of GPT-2";
constexpr const char* fetch_again = "; download all files of the tokenizer again, from one source";

TEST(TokenizerJson, IsAcceptedInEachFormThatHuggingFaceWrites) {
    const std::string hash = Tokenizer::from_bytes(small_file().dump()).compute_hash();
    json pairs = small_file();
    pairs["model"]["merges"] = json::parse(R"([["a", "b"], ["a", "ab"], ["\u0120", "aab"]])");
    json indented = small_file();
    indented["model"].erase("type");
    indented["truncation"] = nullptr;
    indented["model"]["continuing_subword_prefix"] = "";
    json added_only = small_file();
    added_only["model"]["vocab"].erase("<|endoftext|>");
    json with_template = small_file();
    with_template["post_processor"] = {{"type", "TemplateProcessing"}, {"special_tokens", json::object()}};

    EXPECT_EQ(Tokenizer::from_bytes(pairs.dump()).compute_hash(), hash);
    EXPECT_EQ(Tokenizer::from_bytes(indented.dump(2)).compute_hash(), hash);
    EXPECT_EQ(Tokenizer::from_bytes(added_only.dump()).compute_hash(), hash);
    EXPECT_EQ(Tokenizer::from_bytes(with_template.dump()).compute_hash(), hash);
}

TEST(TokenizerJson, MayHaveMoreSpecialTokens) {
    json file = small_file();
    file["added_tokens"].push_back({{"id", 260}, {"content", " aab"}, {"special", true}});
    const Tokenizer tokenizer = Tokenizer::from_bytes(file.dump());

    EXPECT_EQ(tokenizer.vocabulary_size(), 261u);
    EXPECT_EQ(tokenizer.encode(" aab"), std::vector<std::uint32_t>{258});
    EXPECT_EQ(tokenizer.decode({{260}}), " aab");
    EXPECT_EQ(Tokenizer::from_bytes(tokenizer.to_bytes()).to_bytes(), tokenizer.to_bytes());
}

TEST(TokenizerJson, MayHaveNoEndToken) {
    json file = small_file();
    file["model"]["vocab"].erase("<|endoftext|>");
    file["added_tokens"] = json::array();

    EXPECT_EQ(Tokenizer::from_bytes(file.dump()).find_end_token(), std::nullopt);
}

TEST(TokenizerJson, IsRejectedWithTheNameOfAnUnsupportedFeature) {
    const std::vector<std::pair<json, std::string>> refusals{
        {changed("/model/type", "WordPiece"), " is a WordPiece tokenizer"},
        {changed("/model/type", "Unigram"), " is a Unigram tokenizer"},
        {changed("/model/dropout", 0.1), " sets dropout to 0.1"},
        {changed("/model/end_of_word_suffix", "</w>"), " sets end_of_word_suffix to \"</w>\""},
        {changed("/model/continuing_subword_prefix", "##"), " sets continuing_subword_prefix to \"##\""},
        {changed("/model/byte_fallback", true), " sets byte_fallback to true"},
        {changed("/model/ignore_merges", true), " sets ignore_merges to true"},
        {changed("/normalizer", {{"type", "NFC"}}), " has the normalizer NFC"},
        {changed("/pre_tokenizer", nullptr), " has the pre_tokenizer none instead of ByteLevel"},
        {changed("/pre_tokenizer/type", "Metaspace"), " has the pre_tokenizer Metaspace instead of ByteLevel"},
        {changed("/pre_tokenizer/add_prefix_space", true),
         " puts a space before every text (add_prefix_space)"},
        {changed("/pre_tokenizer/use_regex", false), " does not split words by GPT-2's pattern (use_regex)"},
        {changed("/decoder/type", "BPEDecoder"), " has the decoder BPEDecoder instead of ByteLevel"},
        {changed("/post_processor", {{"type", "RobertaProcessing"}}),
         " has the post_processor RobertaProcessing, which adds tokens to texts"},
        {changed("/added_tokens/0/special", false),
         " has the added token \"<|endoftext|>\", which is not special"}};
    for (const auto& [file, sentence] : refusals)
        EXPECT_EQ(refusal_of(file), "the stored tokenizer" + sentence + only_gpt2);
}

TEST(TokenizerJson, IsRejectedIfMalformed) {
    const std::vector<std::pair<json, std::string>> refusals{
        {json::array(), " has no \"model\": it is not a tokenizer.json"},
        {changed("/model", "BPE"), " has no \"model\": it is not a tokenizer.json"},
        {changed("/model/merges", nullptr), " has no list of merges"},
        {changed("/model/merges/0", 7), " has a merge that is not a pair of tokens: 7"},
        {changed("/added_tokens", "none"), " has added_tokens that are not a list"},
        {changed("/added_tokens/0", 7), " has an added token without content"},
        {changed("/added_tokens/0/content", ""), " has an added token without content"}};
    for (const auto& [file, sentence] : refusals)
        EXPECT_EQ(refusal_of(file), "the stored tokenizer" + sentence + only_gpt2);

    EXPECT_EQ(
        refusal_of(changed("/model/vocab", json::array())),
        "the stored tokenizer: the vocabulary is not an object of tokens and ids; download the file again");
    EXPECT_EQ(refusal_of(changed("/model/vocab/ab", -1)),
              "the stored tokenizer: the id of token \"ab\" is not a whole number below 2147483648; "
              "download the file again");
    EXPECT_EQ(refusal_of(changed("/model/merges/1", "a a b")),
              "the stored tokenizer: merge 2, \"a a b\", does not consist of two tokens separated by one "
              "space; download the file again");
}

TEST(TokenizerJson, IsRejectedWithTheBytePositionIfTruncated) {
    const std::string complete = small_file().dump();

    EXPECT_EQ(refusal_of(complete.substr(0, 1000)),
              "the stored tokenizer is not valid JSON: it ends too early, after 1,000 bytes; correct it, or "
              "copy it again");
    EXPECT_EQ(refusal_of(std::string()),
              "the stored tokenizer is not valid JSON: it ends too early, after 0 bytes; correct it, or "
              "copy it again");
    EXPECT_EQ(refusal_of(std::string(R"({"model": 1e999})")),
              "the stored tokenizer contains a number that is too large for a double; correct the number");
}

TEST(Vocabulary, IsRejectedIfIdsHaveHolesOrDuplicates) {
    EXPECT_EQ(
        refusal_of(changed("/model/vocab/ab", 300)),
        cat("the stored tokenizer: token \"ab\" has id 300, but there are only 260 tokens: the ids have gaps",
            fetch_again));
    EXPECT_EQ(refusal_of(changed("/model/vocab/ab", 97)),
              cat("the stored tokenizer: tokens \"a\" and \"ab\" have the same id 97", fetch_again));
    EXPECT_EQ(refusal_of(changed("/added_tokens/0/id", 5)),
              cat("the stored tokenizer: token \"<|endoftext|>\" has two ids, 259 and 5", fetch_again));
}

TEST(Vocabulary, IsRejectedIfAByteIsMissing) {
    json file = small_file();
    file["model"]["vocab"].erase("Z");
    file["model"]["vocab"]["<pad>"] = 'Z';

    EXPECT_EQ(refusal_of(file), cat("the stored tokenizer: no token represents byte 90: the vocabulary is "
                                    "incomplete or not byte-level",
                                    fetch_again));
}

TEST(Vocabulary, IsRejectedIfATokenIsNotInTheByteAlphabet) {
    EXPECT_EQ(refusal_of(changed("/model/vocab/a b", 260)),
              cat("the stored tokenizer: token \"a b\" (id 260) is not spelled in GPT-2's byte alphabet",
                  fetch_again));
}

TEST(Merges, AreRejectedIfUnknownSpecialOrDuplicate) {
    EXPECT_EQ(refusal_of(changed("/model/merges/1", "a cd")),
              cat("the stored tokenizer: merge 2, \"a cd\", needs the token \"cd\", which the vocabulary lacks",
                  fetch_again));
    EXPECT_EQ(refusal_of(changed("/model/merges/1", "b b")),
              cat("the stored tokenizer: merge 2, \"b b\", needs the token \"bb\", which the vocabulary lacks",
                  fetch_again));
    EXPECT_EQ(refusal_of(changed("/model/merges/1", "<|endoftext|> b")),
              cat("the stored tokenizer: merge 2, \"<|endoftext|> b\", uses \"<|endoftext|>\", which is a "
                  "special token",
                  fetch_again));
    EXPECT_EQ(refusal_of(changed("/model/merges/1", "a b")),
              cat("the stored tokenizer: merge 2, \"a b\", is in the list twice", fetch_again));
}

TEST(Merges, AreRejectedIfTruncated) {
    json file = small_file();
    file["model"]["merges"].erase(1);
    file["model"]["merges"].erase(1);

    EXPECT_EQ(refusal_of(file),
              cat("the stored tokenizer: no merge produces the token \"aab\" (id 257) or 1 other token: the "
                  "list of 1 merge is cut short or belongs to another vocabulary",
                  fetch_again));
}

class TokenizerFolder : public testing::Test {
protected:
    void SetUp() override {
        const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
        folder_ = fs::path(testing::TempDir()) / ("trireme_tokenizer_" + test);
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

    std::string refusal() const {
        try {
            Tokenizer::read_gpt2(folder_);
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "accepted";
    }

    fs::path folder_;
};

TEST_F(TokenizerFolder, MayHoldFilesOfOpenAiOrHuggingFace) {
    const std::string tokens = small_file()["model"]["vocab"].dump();
    const std::string hash = Tokenizer::from_bytes(small_file().dump()).compute_hash();

    write("encoder.json", tokens);
    write("vocab.bpe", "#version: 0.2\na b\na ab\n\xc4\xa0 aab\n");
    EXPECT_EQ(Tokenizer::read_gpt2(folder_).compute_hash(), hash);

    fs::remove(folder_ / "encoder.json");
    fs::remove(folder_ / "vocab.bpe");
    write("vocab.json", tokens);
    write("merges.txt", "a b\r\na ab\r\n\xc4\xa0 aab\r\n\r\n");
    EXPECT_EQ(Tokenizer::read_gpt2(folder_).compute_hash(), hash);

    fs::remove(folder_ / "vocab.json");
    fs::remove(folder_ / "merges.txt");
    write("tokenizer.json", small_file().dump(2));
    EXPECT_EQ(Tokenizer::read_gpt2(folder_).compute_hash(), hash);
    EXPECT_EQ(Tokenizer::read_gpt2(folder_ / "tokenizer.json").compute_hash(), hash);
}

TEST_F(TokenizerFolder, IsRejectedWithoutATokenizer) {
    EXPECT_EQ(refusal(),
              "the folder " + folder_.string() +
                  " holds no GPT-2 tokenizer: neither encoder.json and vocab.bpe, nor vocab.json and "
                  "merges.txt, nor tokenizer.json; name a folder with one of these");
}

TEST_F(TokenizerFolder, NamesTheFileThatIsMissing) {
    write("encoder.json", small_file()["model"]["vocab"].dump());

    EXPECT_EQ(refusal(),
              (folder_ / "vocab.bpe").string() + " cannot be read: No such file or directory; check its name");
}

TEST_F(TokenizerFolder, NamesTheFileThatIsWrong) {
    write("encoder.json", small_file()["model"]["vocab"].dump());
    write("vocab.bpe", "#version: 0.2\na b\na ab\n");
    EXPECT_EQ(refusal(), cat((folder_ / "vocab.bpe").string(),
                             ": no merge produces the token \"\xc4\xa0"
                             "aab\" (id 258): the list of 2 merges is "
                             "cut short or belongs to another vocabulary",
                             fetch_again));

    write("vocab.bpe", "#version: 0.2\na b\nabc\n");
    EXPECT_EQ(refusal(),
              (folder_ / "vocab.bpe").string() +
                  ": merge 2, \"abc\", does not consist of two tokens separated by one space; download the "
                  "file again");

    write("encoder.json", "{\"a\": 1");
    EXPECT_EQ(refusal(),
              (folder_ / "encoder.json").string() +
                  " is not valid JSON: it ends too early, after 7 bytes; correct it, or copy it again");
}

TEST(TokenizerPath, IsNamedIfItDoesNotExist) {
    try {
        parse_tokenizer_option("/no/such/tokenizer.json");
        FAIL() << "a missing file was read";
    } catch (const ConfigError& error) {
        EXPECT_STREQ(error.what(),
                     "/no/such/tokenizer.json cannot be read: No such file or directory; check its name");
    }
}

}  // namespace
}  // namespace trireme::data

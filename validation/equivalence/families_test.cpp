// The losses of every family and task are independent of the layout. Random choices, padding, packing and the
// number of targets depend on no rank. Tasks are hidden tokens, answers, and classes of texts and images.
#include <array>
#include <random>

#include "equivalence/equal_losses.hpp"

namespace trireme::messages {
namespace {

using nlohmann::json;

// A training, and the input from which `prepare` makes its corpus.
struct Trial {
    const char* name;
    std::string (*input)();  // contents of rows.bin; null if the rows are synthetic
    const char* prepare;
    const char* train;
};

void PrintTo(const Trial& trial, std::ostream* out) { *out << trial.name; }  // for GoogleTest

std::string words(std::mt19937& random, std::size_t count) {
    constexpr std::array known{"red", "green", "blue", "small", "large", "river", "tree", "house"};
    std::string text;
    for (std::size_t w = 0; w < count; ++w)
        text += (w == 0 ? "" : " ") + std::string(known[random() % known.size()]);
    return text;
}

// Returns 40 questions; each asks for the first, second or third of the eight words in its context.
std::string questions() {
    std::mt19937 random;
    json paragraphs = json::array();
    for (int p = 0; p < 20; ++p) {
        const std::string context = words(random, 8);
        json asked = json::array();
        for (int q = 0; q < 2; ++q) {
            const auto place = static_cast<int>(random() % 3);
            std::size_t begin = 0;
            for (int w = 0; w < place; ++w) begin = context.find(' ', begin) + 1;
            const json answer{{"text", context.substr(begin, context.find(' ', begin) - begin)},
                              {"answer_start", begin}};
            asked.push_back({{"id", std::to_string(2 * p + q)},
                             {"question", "word " + std::to_string(1 + place) + "?"},
                             {"answers", json::array({answer})}});
        }
        paragraphs.push_back({{"context", context}, {"qas", asked}});
    }
    return json{{"version", "1.1"}, {"data", json::array({{{"title", "words"}, {"paragraphs", paragraphs}}})}}
        .dump();
}

// Returns texts of 1 to 24 letters. Each of the two classes has its own letters.
std::string labelled_texts() {
    std::mt19937 random;
    std::string lines;
    for (int row = 0; row < 60; ++row) {
        std::string text;
        for (std::size_t letters = 1 + random() % 24; letters > 0; --letters) {
            text += static_cast<char>((row % 2 == 0 ? 'a' : 'x') + random() % 3);
        }
        lines += json{{"text", text}, {"kind", row % 2}}.dump() + "\n";
    }
    return lines;
}

// Returns 40 images in CIFAR-10's format: a label, then 3 x 32 x 32 pixels, brighter for higher labels.
std::string images() {
    std::mt19937 random;
    std::string bytes;
    for (unsigned image = 0; image < 40; ++image) {
        const unsigned label = image % 10;
        bytes += static_cast<char>(label);
        for (int pixel = 0; pixel < 3 * 32 * 32; ++pixel)
            bytes += static_cast<char>(20 * label + random() % 70);
    }
    return bytes;
}

const std::array trials{
    Trial{"LlamaWithGroupedHeads", nullptr, "--synthetic csn --count 40",
          "--model llama-tiny --heads 4 --groups 2 --mlp-width 24 --positions 24 --lr 5e-3"},
    Trial{"BertForHiddenTokens", nullptr, "--synthetic csn --count 40 --special-tokens bert",
          "--model bert-tiny --heads 2 --positions 24 --lr 5e-3"},
    Trial{"BertForAnswers", questions, "rows.bin --format squad",
          "--model bert-tiny --heads 2 --positions 64 --lr 5e-3"},
    Trial{"BertForClasses", labelled_texts, "rows.bin --format jsonl --label kind --special-tokens bert",
          "--model bert-tiny --heads 2 --positions 32 --lr 2e-2"},
    Trial{"VitWithLabelSmoothing", images, "rows.bin --format cifar10",
          "--model vit-tiny --heads 2 --patch 8 --label-smoothing 0.1 --lr 5e-3"}};

class ModelFamilies : public EqualLosses, public testing::WithParamInterface<Trial> {
protected:
    void SetUp() override {
        if (GetParam().input != nullptr) write("rows.bin", GetParam().input());
        const Outcome outcome = run(std::string("prepare --quiet --output corpus.h5 ") + GetParam().prepare);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    void expect_equal_losses_in_all_layouts(const std::string& precision, double bar) {
        const std::string training = std::string(GetParam().train) +
                                     " --corpus corpus.h5 --batch 8 --layers 2 --width 16 --dropout 0.1 --long "
                                     "truncate --validation-share 0.2 " +
                                     precision;
        expect_equal_losses(training,
                            {{"--microbatches 3", 2},
                             {"--length fixed", 3, mpi_libraries() - 1},
                             {"--length pack --microbatches 2", 4}},
                            bar);
    }
};

TEST_P(ModelFamilies, HaveTheSameLossesInAllLayoutsWithReferenceKernels) {
    expect_equal_losses_in_all_layouts("--dtype f64 --device reference", 1e-10);
}

TEST_P(ModelFamilies, HaveTheSameLossesInAllLayoutsWithFastKernels) {
    expect_equal_losses_in_all_layouts("--dtype f32 --device cpu", 1e-5);
}

std::string to_string(const testing::TestParamInfo<Trial>& trial) { return trial.param.name; }

INSTANTIATE_TEST_SUITE_P(Every, ModelFamilies, testing::ValuesIn(trials), to_string);

}  // namespace
}  // namespace trireme::messages

// Tests the messages for damaged labels, images and questions.
#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/changed_file.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::bert_bytes;
using validation::catch_message;
using validation::corpus_of;
using validation::describe_image_corpus;
using validation::described;
using validation::image_row;
using validation::labelled_row;
using validation::question_row;
using validation::remove_attribute;
using validation::remove_dataset;
using validation::resize_dataset;
using validation::says;
using validation::ScratchFolder;
using validation::set_element;
using validation::set_number;
using validation::set_text;

std::string labelled_file(const ScratchFolder& folder) {
    corpus_of(folder, described(RowKind::labelled_text, bert_bytes()),
              {labelled_row({1, 2}, 0), labelled_row({3}, 1), labelled_row({4}, 1)}, {"a", "b"});
    return folder.file("corpus.h5");
}

std::string question_file(const ScratchFolder& folder) {
    const Question question{.context_begin = 1, .answer_first = 2, .answer_last = 2, .answers = {"one", "two"}};
    corpus_of(folder, described(RowKind::question, bert_bytes()),
              {question_row({1, 2, 3}, question), question_row({4, 5, 6, 7}, question)});
    return folder.file("corpus.h5");
}

std::string image_file(const ScratchFolder& folder) {
    corpus_of(folder, describe_image_corpus({1, 2, 3}),
              {image_row({1, 2, 3, 4, 5, 6}, 0), image_row({7, 8, 9, 10, 11, 12}, 1)});
    return folder.file("corpus.h5");
}

// Opens the corpus, reads all data of every row, and verifies it.
void use_by_kind(const std::string& path) {
    const Corpus corpus = Corpus::open(path);
    const RowKind kind = corpus.info().kind;
    std::vector<std::uint32_t> tokens;
    std::vector<std::uint8_t> pixels;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) {
        if (kind != RowKind::image) corpus.read(row, tokens);
        if (kind == RowKind::image) corpus.read_image(row, pixels);
        if (kind == RowKind::question) corpus.read_question(row);
        if (kind != RowKind::question) corpus.label(row);
    }
    if (kind != RowKind::image) corpus.read_tokenizer();
    corpus.verify();
}

std::string use_message(const std::string& path) {
    return catch_message<ConfigError>([&] { use_by_kind(path); });
}

// Expects a message that has `sentence` and names the file.
void expect_refusal(const std::string& path, const std::string& sentence) {
    const std::string message = use_message(path);
    EXPECT_TRUE(says(message, sentence));
    EXPECT_TRUE(says(message, path));
}

TEST(CorpusKindsDamage, IsReportedForAMissingDataset) {
    const ScratchFolder folder;
    const std::vector<std::pair<std::string (*)(const ScratchFolder&), std::vector<const char*>>> datasets{
        {labelled_file, {"/tokens", "/offsets", "/tokenizer", "/labels"}},
        {question_file, {"/places", "/answers", "/answer_offsets"}},
        {image_file, {"/images", "/labels"}}};

    for (const auto& [make, names] : datasets)
        for (const char* name : names) {
            const std::string path = make(folder);
            remove_dataset(path, name);
            expect_refusal(path, cat("cannot open ", name, " of "));
        }
}

TEST(CorpusKindsDamage, IsReportedForAMissingAttribute) {
    const ScratchFolder folder;
    for (const char* name : {"classes", "class_names", "tokenizer_name", "vocabulary_size", "rows"}) {
        const std::string path = labelled_file(folder);
        remove_attribute(path, name);
        expect_refusal(path, cat("corpus.h5 is damaged: its attribute '", name, "' is missing"));
    }
    for (const char* name : {"image_channels", "image_height", "image_width", "classes", "row_kind"}) {
        const std::string path = image_file(folder);
        remove_attribute(path, name);
        expect_refusal(path, cat("corpus.h5 is damaged: its attribute '", name, "' is missing"));
    }
}

TEST(CorpusKindsDamage, IsReportedForAChangedAttribute) {
    const ScratchFolder folder;
    const std::string checksum = "corpus.h5 is damaged: its attributes give the checksum ";
    for (const char* name : {"classify_token", "separator_token", "mask_token", "end_token"}) {
        const std::string path = labelled_file(folder);
        set_number(path, "/", name, 7);
        expect_refusal(path, checksum);
        set_number(path, "/", name, 5'000);
        expect_refusal(path, cat("its attribute '", name, "' is 5000, but the vocabulary has 260 tokens"));
        remove_attribute(path, name);
        expect_refusal(path, checksum);
    }
    const std::string labelled = labelled_file(folder);
    set_text(labelled, "class_names", "[\"a\", \"c\"]");
    expect_refusal(labelled, checksum);
    const std::string images = image_file(folder);
    set_number(images, "/", "image_width", 2);
    expect_refusal(images, checksum);
}

TEST(CorpusKindsDamage, IsReportedForAttributesWithInvalidValues) {
    const ScratchFolder folder;
    const std::string images = image_file(folder);
    set_number(images, "/", "image_height", 0);
    expect_refusal(images, "its attribute 'image_height' is 0, not 1 to 65536");
    set_number(images, "/", "image_height", 1ULL << 63);
    expect_refusal(images, "its attribute 'image_height' is 9223372036854775808, not 1 to 65536");

    const std::string labelled = labelled_file(folder);
    set_number(labelled, "/", "classes", 3);
    expect_refusal(labelled, "it has 2 class names, but 3 classes");
    set_number(labelled, "/", "classes", 1ULL << 31);
    expect_refusal(labelled, "its attribute 'classes' is 2147483648, not 1 to 2147483647");
    for (const char* names : {"", "a\nb", "{\"a\": 1}", "[\"a\", 2]", "[\"a\""}) {
        const std::string path = labelled_file(folder);
        set_text(path, "class_names", names);
        expect_refusal(path, "its attribute 'class_names' is not a list of names");
    }
}

TEST(CorpusKindsDamage, IsReportedForDatasetsOfTheWrongSize) {
    const ScratchFolder folder;
    const auto resized = [&](std::string (*make)(const ScratchFolder&), const char* name, hsize_t elements) {
        const std::string path = make(folder);
        resize_dataset(path, name, elements);
        return path;
    };

    expect_refusal(resized(labelled_file, "/labels", 2),
                   "its attribute 'rows' is 3, but /labels holds 2 elements, not 1 per row");
    expect_refusal(resized(labelled_file, "/labels", 0), "/labels holds 0 elements");
    expect_refusal(resized(labelled_file, "/offsets", 3),
                   "its attribute 'rows' is 3, but /offsets holds 3 elements, not 4");
    expect_refusal(resized(labelled_file, "/offsets", 0), "/offsets holds 0 elements");
    expect_refusal(resized(image_file, "/images", 11),
                   "its attribute 'rows' is 2, but /images holds 11 elements, not 6 per row");
    expect_refusal(resized(image_file, "/images", 18), "/images holds 18 elements, not 6 per row");
    expect_refusal(resized(image_file, "/labels", 3), "/labels holds 3 elements, not 1 per row");
    expect_refusal(resized(question_file, "/places", 5), "/places holds 5 elements, not 3 per row");
    expect_refusal(resized(question_file, "/places", 9), "/places holds 9 elements, not 3 per row");
    expect_refusal(resized(question_file, "/answer_offsets", 2), "/answer_offsets holds 2 elements");
    expect_refusal(resized(question_file, "/answers", 15),
                   "/answer_offsets runs from 0 to 16, but /answers holds 15");
}

// A false size must not lead to an allocation of that size.
TEST(CorpusKindsDamage, IsReportedForADatasetLargerThanItsFile) {
    const ScratchFolder folder;
    const std::string path = question_file(folder);
    resize_dataset(path, "/places", hsize_t{1} << 50);

    expect_refusal(path, "its dataset /places claims 1125899906842624 elements of 4 bytes, but the file has ");
}

TEST(CorpusKindsDamage, IsReportedForALabelThatIsNoClass) {
    const ScratchFolder folder;
    const std::string path = labelled_file(folder);
    set_element(path, "/labels", 1, 2);

    expect_refusal(path, "corpus.h5: row 1 has the label 2, but labels must be below 2");
}

TEST(CorpusKindsDamage, IsReportedForAnAnswerOutsideItsContext) {
    const ScratchFolder folder;
    const std::vector<std::pair<hsize_t, std::uint32_t>> changes{
        {0, 3}, {1, 0}, {1, 3}, {2, 3}, {2, 0xFFFFFFFF}};

    for (const auto& [at, value] : changes) {
        const std::string path = question_file(folder);
        set_element(path, "/places", at, value);
        expect_refusal(path, "corpus.h5: the answer of row 0 is tokens ");
    }
    const std::string path = question_file(folder);
    set_element(path, "/places", 5, 4);
    expect_refusal(
        path,
        "the answer of row 1 is tokens 2 to 4, but its context begins at token 1 and the row has 4 tokens");
}

TEST(CorpusKindsDamage, IsReportedForMalformedAnswerLists) {
    const ScratchFolder folder;
    const std::string falling = question_file(folder);
    set_element(falling, "/answer_offsets", 1, 17);
    expect_refusal(falling, "/answer_offsets decreases from 17 to 16 at row 2");

    const std::string late = question_file(folder);
    set_element(late, "/answer_offsets", 0, 1);
    expect_refusal(late, "/answer_offsets runs from 1 to 16, but /answers holds 16");

    const std::string endless = question_file(folder);
    set_element(endless, "/answers", 7, 'x');
    expect_refusal(endless, "corpus.h5: the last answer of row 0 does not end with a zero byte in /answers");
}

TEST(CorpusKindsDamage, IsFoundByVerifyInLabelsImagesAndAnswers) {
    const ScratchFolder folder;
    const std::vector<std::pair<std::string (*)(const ScratchFolder&), const char*>> datasets{
        {labelled_file, "/labels"},
        {image_file, "/labels"},
        {image_file, "/images"},
        {question_file, "/answers"}};

    for (const auto& [make, name] : datasets) {
        const std::string path = make(folder);
        set_element(path, name, 1, name == std::string("/labels") ? 0 : 99);
        expect_refusal(path, cat("corpus.h5 is damaged: the SHA-256 of ", name, " is "));
    }
}

// The same test as for texts, with fewer positions to be quick.
TEST(CorpusKindsDamage, IsRejectedOrHarmlessForAnyFlippedByte) {
    const ScratchFolder folder;
    const ScratchFolder copies;
    for (const auto make : {labelled_file, question_file, image_file}) {
        const std::string intact = validation::read_whole(make(folder));
        const std::string path = copies.file("flipped.h5");
        int refused = 0;
        for (std::size_t at = 0; at < intact.size(); at += at < 12'000 ? 61 : 4'001) {
            std::string bytes = intact;
            bytes[at] ^= 0x20;
            copies.write("flipped.h5", bytes);
            try {
                use_by_kind(path);
            } catch (const ConfigError&) {
                ++refused;
            }
        }
        EXPECT_GT(refused, 30);
    }
}

}  // namespace
}  // namespace trireme::data

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/source.hpp"
#include "unit/data/gzipped.hpp"
#include "unit/data/image_files.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::cifar_image;
using validation::compress_gzip;
using validation::idx_images;
using validation::idx_labels;
using validation::says;
using validation::ScratchFolder;

RowReader reader_of(std::vector<std::string> inputs, SourceFormat format = SourceFormat::automatic) {
    return RowReader({.inputs = std::move(inputs), .format = format, .synthetic = ""});
}

std::vector<SourceRow> read_rows(std::vector<std::string> inputs,
                                 SourceFormat format = SourceFormat::automatic) {
    RowReader reader = reader_of(std::move(inputs), format);
    std::vector<SourceRow> rows;
    SourceRow row;
    while (reader.next(row)) rows.push_back(row);
    return rows;
}

std::string refusal(std::vector<std::string> inputs, SourceFormat format = SourceFormat::automatic) {
    return catch_message<ConfigError>([&] { read_rows(inputs, format); });
}

std::string data_folder() {
    const char* data = std::getenv("TRIREME_TEST_DATA");
    return data == nullptr ? "" : std::string(data) + "/images/";
}

TEST(Cifar, GivesImagesAndLabels) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.bin", cifar_image(3, 7) + cifar_image(9, 255));
    const RowReader reader = reader_of({path});

    const std::vector<SourceRow> rows = read_rows({path});

    EXPECT_EQ(reader.kind(), RowKind::image);
    EXPECT_EQ(reader.image_size(), (ImageSize{3, 32, 32}));
    EXPECT_EQ(reader.class_names().at(9), "truck");
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].image.label, 3U);
    EXPECT_EQ(rows[0].image.pixels, std::vector<std::uint8_t>(3072, 7));
    EXPECT_EQ(rows[1].image.label, 9U);
    EXPECT_EQ(rows[1].location, path + ", image 1");
}

TEST(Cifar, ReportsALabelBeyondItsClasses) {
    const ScratchFolder folder;

    const std::vector<SourceRow> rows =
        read_rows({folder.write("a.bin", cifar_image(10, 0) + cifar_image(1, 0))});

    EXPECT_EQ(rows.at(0).fault, "its label is 10, but CIFAR-10 has 10 classes, 0 to 9");
    EXPECT_EQ(rows.at(1).fault, "");
}

TEST(Cifar, RejectsATruncatedFile) {
    const ScratchFolder folder;
    const std::string cut = (cifar_image(1, 0) + cifar_image(2, 0)).substr(0, 5000);
    const std::string named = folder.write("a.bin", cut);
    const std::string packed = folder.write("b.bin.gz", compress_gzip(cut));

    EXPECT_TRUE(says(refusal({named}), "a.bin has 5000 bytes, which is not a multiple of 3073"));
    EXPECT_TRUE(says(refusal({packed}), "b.bin.gz, image 1 is cut short: it has 1927 of the 3073 bytes"));
    EXPECT_TRUE(says(refusal({named}, SourceFormat::cifar10), "a.bin, image 1 is cut short"));
}

TEST(Mnist, PairsImagesWithTheirLabels) {
    const ScratchFolder folder;
    const std::string images = folder.write("x-images-idx3-ubyte", idx_images(2, 2, 3, "abcdefghijkl"));
    const std::string labels =
        folder.write("x-labels-idx1-ubyte.gz", compress_gzip(idx_labels(2, std::string("\4\0", 2))));
    const RowReader reader = reader_of({labels, images});

    const std::vector<SourceRow> rows = read_rows({labels, images});

    EXPECT_EQ(reader.kind(), RowKind::image);
    EXPECT_EQ(reader.image_size(), (ImageSize{1, 2, 3}));
    EXPECT_TRUE(reader.class_names().empty());
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].image.label, 4U);
    EXPECT_EQ(rows[1].image.label, 0U);
    EXPECT_EQ(rows[1].image.pixels, (std::vector<std::uint8_t>{'g', 'h', 'i', 'j', 'k', 'l'}));
}

TEST(Mnist, ReportsLabelsThatAreNotDigits) {
    const ScratchFolder folder;
    const std::string images = folder.write("i-ubyte", idx_images(3, 1, 1, "abc"));
    const std::string labels = folder.write("l-ubyte", idx_labels(3, "\x09\xC8\x01"));

    const std::vector<SourceRow> rows = read_rows({images, labels});

    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].fault, "");
    EXPECT_EQ(rows[1].fault, "its label is 200, but MNIST has 10 classes, 0 to 9");
    EXPECT_EQ(rows[2].fault, "");
}

TEST(Mnist, RejectsFilesThatDoNotBelongTogether) {
    const ScratchFolder folder;
    const std::string images = folder.write("i-ubyte", idx_images(2, 1, 1, "ab"));
    const std::string one_label = folder.write("l-ubyte", idx_labels(1, "a"));
    const std::string large = folder.write("large-ubyte", idx_images(1, 2, 1, "ab"));

    EXPECT_TRUE(says(refusal({images}), "1 file of images and 0 files of labels"));
    EXPECT_TRUE(
        says(refusal({images, one_label}), images + " has 2 images, but " + one_label + " has 1 label;"));
    const std::string labels = folder.write("k-ubyte", idx_labels(2, "ab"));
    EXPECT_TRUE(says(refusal({images, labels, large, one_label}),
                     "the images of a corpus have one size, but those of " + images +
                         " have 1 x 1 x 1 pixels and "
                         "those of " +
                         large + " 1 x 2 x 1; prepare them as separate corpora"));
}

TEST(Mnist, RejectsAnInvalidHeader) {
    const ScratchFolder folder;
    const std::string labels = folder.write("l-ubyte", idx_labels(2, "ab"));
    const auto message = [&](const std::string& bytes) {
        return refusal({folder.write("i-ubyte", bytes), labels});
    };

    EXPECT_TRUE(says(message(idx_images(4'000'000'000, 28, 28, "ab")),
                     "i-ubyte has 18 bytes, but its header says 3136000000016 (4,000,000,000 images)"));
    EXPECT_TRUE(says(message(idx_images(1, 4'000'000'000, 4'000'000'000, "ab")),
                     "says that its images have 4000000000 x 4000000000 pixels, but each side must have 1 to"));
    EXPECT_TRUE(says(message(idx_images(2, 0, 1, "")), "have 0 x 1 pixels"));
    EXPECT_TRUE(
        says(message("abcdefgh"), "is not an MNIST file: it begins with 1633837924, not with 2051 (images)"));
    EXPECT_TRUE(says(message(std::string("\0\0\x08\x03\0", 5)), "is cut short: it ends within its header"));
    EXPECT_TRUE(says(message(""), "is cut short: it ends within its header"));
}

TEST(Mnist, RejectsACompressedFileOfTheWrongLength) {
    const ScratchFolder folder;
    const std::string labels = folder.write("l-ubyte", idx_labels(2, "ab"));
    const auto message = [&](const std::string& bytes) {
        return refusal({folder.write("i-ubyte.gz", compress_gzip(bytes)), labels});
    };

    EXPECT_TRUE(says(message(idx_images(2, 1, 2, "abc")),
                     "i-ubyte.gz is cut short: it ends in image 1, but its header says 2 images"));
    EXPECT_TRUE(says(message(idx_images(2, 1, 1, "abc")), "i-ubyte.gz is longer than its header says"));
}

TEST(Images, CannotBeMixedWithTextsOrOtherSizes) {
    const ScratchFolder folder;
    const std::string text = folder.write("a.txt", "one");
    const std::string cifar = folder.write("a.bin", cifar_image(0, 0));
    const std::string images = folder.write("i-ubyte", idx_images(1, 1, 1, "a"));
    const std::string labels = folder.write("l-ubyte", idx_labels(1, "a"));

    EXPECT_TRUE(says(refusal({text, cifar}),
                     "a corpus has rows of one kind, but " + text + " holds texts (--format text) and " +
                         cifar + " holds images (--format cifar10); prepare them as separate corpora"));
    EXPECT_TRUE(says(refusal({cifar, images, labels}),
                     cifar + " have 3 x 32 x 32 pixels and those of " + images + " 1 x 1 x 1"));
}

TEST(Images, AreReadFromRealFiles) {
    const std::string folder = data_folder();
    if (folder.empty()) GTEST_SKIP() << "TRIREME_TEST_DATA is not set: images/ is not there";
    std::array<int, 10> cifar_classes{};
    std::array<int, 10> mnist_classes{};

    for (const SourceRow& row : read_rows({folder + "cifar10_train_2000.bin"}))
        ++cifar_classes.at(row.image.label);
    RowReader mnist = reader_of({folder + "t10k-images-idx3-ubyte.gz", folder + "t10k-labels-idx1-ubyte.gz"});
    SourceRow row;
    while (mnist.next(row)) ++mnist_classes.at(row.image.label);

    int images = 0;
    for (const int count : cifar_classes) images += count;
    EXPECT_EQ(images, 2000);
    EXPECT_EQ(mnist_classes, (std::array<int, 10>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
    EXPECT_EQ(mnist.image_size(), (ImageSize{1, 28, 28}));
    EXPECT_EQ(mnist.fraction_read(), 1.0);
}

TEST(SourceFormat, IsRejectedForSyntheticRows) {
    EXPECT_TRUE(says(catch_message<ConfigError>([] {
                         RowReader(
                             {.inputs = {}, .format = SourceFormat::squad, .synthetic = "csn", .count = 1});
                     }),
                     "--format squad describes input files, but --synthetic reads none"));
}

TEST(SourceFormat, FollowsTheOptionRegardlessOfTheFileName) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.json", "{\"text\": \"one\"}\n");

    EXPECT_EQ(read_rows({path}, SourceFormat::text).at(0).text(), "{\"text\": \"one\"}");
    EXPECT_EQ(read_rows({path}, SourceFormat::jsonl).at(0).text(), "one");
}

}  // namespace
}  // namespace trireme::data

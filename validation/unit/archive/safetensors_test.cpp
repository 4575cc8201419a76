#include "trireme/archive/safetensors.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {
namespace {

using validation::catch_message;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;

StoredTensor tensor(std::string name, StoredType type, std::vector<std::uint64_t> shape) {
    StoredTensor made;
    made.name = std::move(name);
    made.type = type;
    made.shape = std::move(shape);
    return made;
}

std::string with_length(std::uint64_t length, const std::string& rest) {
    std::string file;
    for (int byte = 0; byte < 8; ++byte) file += static_cast<char>(length >> (8 * byte) & 255);
    return file + rest;
}

std::string refusal(std::string_view header, std::uint64_t data_bytes) {
    return catch_message<ConfigError>([&] { parse_safetensors_header(header, data_bytes, "a.safetensors"); });
}

// A header with one tensor of two floats.
const std::string small = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST(Safetensors, ReadsAHeader) {
    const SafetensorsHeader header = parse_safetensors_header(
        R"({"b":{"shape":[],"data_offsets":[16,18],"dtype":"BF16"},"__metadata__":{"format":"pt"},)"
        R"("a":{"dtype":"I64","shape":[1,2],"data_offsets":[0,16]}}  )",
        18, "a.safetensors");

    ASSERT_EQ(header.tensors.size(), 2U);
    EXPECT_EQ(header.tensors[0].name, "a");
    EXPECT_EQ(header.tensors[0].type, StoredType::i64);
    EXPECT_EQ(header.tensors[0].shape, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(header.tensors[1].name, "b");
    EXPECT_TRUE(header.tensors[1].shape.empty());
    EXPECT_EQ(header.tensors[1].count_bytes(), 2U);
    EXPECT_EQ(header.metadata.at("format"), "pt");
}

TEST(Safetensors, KeepsTensorsWithoutElements) {
    const SafetensorsHeader header = parse_safetensors_header(
        R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"e":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]}})",
        8, "a.safetensors");

    EXPECT_EQ(header.tensors.at(0).name, "e");
    EXPECT_EQ(header.tensors.at(0).count_bytes(), 0U);
}

// The expected bytes are what Hugging Face's library (safetensors 0.8.0) writes for these zero tensors.
TEST(Safetensors, WritesTheSameBytesAsHuggingFace) {
    const ScratchFolder folder;
    const std::string header =
        R"({"__metadata__":{"format":"pt"},"z":{"dtype":"U64","shape":[2],"data_offsets":[0,16]},)"
        R"("i":{"dtype":"I64","shape":[3],"data_offsets":[16,40]},)"
        R"("a":{"dtype":"F64","shape":[2],"data_offsets":[40,56]},)"
        R"("b":{"dtype":"F32","shape":[3],"data_offsets":[56,68]},)"
        R"("s":{"dtype":"F32","shape":[],"data_offsets":[68,72]},)"
        "\"\xc3\xbc\\n\\\"\x7f\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[72,72]},"
        R"("y":{"dtype":"U32","shape":[2],"data_offsets":[72,80]},)"
        R"("j":{"dtype":"I32","shape":[3],"data_offsets":[80,92]},)"
        R"("c":{"dtype":"BF16","shape":[2,2],"data_offsets":[92,100]},)"
        R"("h":{"dtype":"F16","shape":[1],"data_offsets":[100,102]},)"
        R"("x":{"dtype":"U16","shape":[2],"data_offsets":[102,106]},)"
        R"("w":{"dtype":"I16","shape":[3],"data_offsets":[106,112]},)"
        R"("v":{"dtype":"I8","shape":[3],"data_offsets":[112,115]},)"
        R"("u":{"dtype":"U8","shape":[3],"data_offsets":[115,118]},)"
        R"("k":{"dtype":"BOOL","shape":[3],"data_offsets":[118,121]}}  )";
    using enum StoredType;
    SafetensorsWriter writer(
        folder.file("a.safetensors"),
        {tensor("b", f32, {3}), tensor("a", f64, {2}), tensor("c", bf16, {2, 2}), tensor("h", f16, {1}),
         tensor("i", i64, {3}), tensor("j", i32, {3}), tensor("k", boolean, {3}), tensor("u", u8, {3}),
         tensor("v", i8, {3}), tensor("w", i16, {3}), tensor("x", u16, {2}), tensor("y", u32, {2}),
         tensor("z", u64, {2}), tensor("s", f32, {}), tensor("\xc3\xbc\n\"\x7f", f32, {0, 3})},
        {{"format", "pt"}});

    writer.write(std::vector<std::byte>(121));
    writer.finish();

    EXPECT_EQ(read_whole(folder.file("a.safetensors")), with_length(880, header + std::string(121, '\0')));
}

TEST(Safetensors, ReadsPartOfAWrittenTensor) {
    const ScratchFolder folder;
    const std::array<float, 4> values{1, 2, 3, 4};
    SafetensorsWriter writer(folder.file("a.safetensors"), {tensor("x", StoredType::f32, {2, 2})}, {});
    writer.write(std::as_bytes(std::span(values)));
    writer.finish();

    const SafetensorsFile file = SafetensorsFile::open(folder.file("a.safetensors"));
    std::array<float, 2> last{};
    file.read(file.header().tensors.at(0), 8, std::as_writable_bytes(std::span(last)));

    EXPECT_EQ(last, (std::array<float, 2>{3, 4}));
    EXPECT_TRUE(file.header().metadata.empty());
}

TEST(Safetensors, LeavesNoFileIfDataIsMissing) {
    const ScratchFolder folder;
    {
        SafetensorsWriter writer(folder.file("a.safetensors"), {tensor("x", StoredType::f32, {2})}, {});
        writer.write(std::vector<std::byte>(4));
        EXPECT_THROW(writer.finish(), BugError);
    }

    EXPECT_TRUE(folder.names().empty());
}

TEST(Safetensors, RejectsWrongHeaderAndFileLengths) {
    const ScratchFolder folder;
    const auto refusal_of = [&](const std::string& bytes) {
        const std::string path = folder.write("a.safetensors", bytes);
        return catch_message<ConfigError>([&] { SafetensorsFile::open(path); });
    };

    EXPECT_TRUE(says(refusal_of(""), "a.safetensors has 0 bytes, too few"));
    EXPECT_TRUE(
        says(refusal_of(with_length(1000, small)), "header has 1000 bytes, but the file has 62 in all"));
    EXPECT_TRUE(says(refusal_of(with_length(~std::uint64_t{0}, small)), "18446744073709551615 bytes"));
    EXPECT_TRUE(says(refusal_of(with_length(0, small)), "is not a JSON object"));
    EXPECT_TRUE(says(refusal_of(with_length(53, small + "........")), "is not valid JSON"));
    EXPECT_TRUE(says(refusal_of(with_length(54, small + ".......")),
                     "the bytes [0, 8), but 7 bytes follow the header; the file is cut short"));
    EXPECT_TRUE(says(refusal_of(with_length(54, small + ".........")), "end at byte 8, but 9 bytes follow"));
}

TEST(Safetensors, RejectsHeadersOverTheFormatLimit) {
    const std::array<std::byte, 8> first{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{8}};

    const std::string message = catch_message<ConfigError>(
        [&] { parse_safetensors_header_bytes(first, std::uint64_t{1} << 40, "a.safetensors"); });

    EXPECT_TRUE(says(message, "134217728 bytes, but the format allows 100000000"));
}

TEST(Safetensors, RejectsOverlappingGappedAndMalformedOffsets) {
    const auto two = [](const char* first, const char* second) {
        return cat(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":)", first,
                   R"(},"y":{"dtype":"U8","shape":[4],"data_offsets":)", second, "}}");
    };

    EXPECT_EQ(refusal(two("[0,4]", "[4,8]"), 8), "(no error)");
    EXPECT_TRUE(says(refusal(two("[0,4]", "[2,6]"), 8), "the previous tensor ends at byte 4: the two overlap"));
    EXPECT_TRUE(says(refusal(two("[0,4]", "[0,4]"), 4), "the two overlap"));
    EXPECT_TRUE(says(refusal(two("[0,4]", "[5,9]"), 9), "there is a gap"));
    EXPECT_TRUE(says(refusal(two("[1,5]", "[5,9]"), 9), "there is a gap"));
    EXPECT_TRUE(says(refusal(two("[0,4]", "[8,4]"), 8), "the bytes [8, 4), but 8 bytes"));
    EXPECT_TRUE(says(refusal(two("[0,4]", "[4,8]"), 9), "end at byte 8, but 9 bytes follow"));
    EXPECT_TRUE(says(refusal(two("[0,4]", "[4]"), 8), "1 data_offsets, not two"));
    EXPECT_TRUE(says(refusal(two("[0,4]", "[4,8,8]"), 8), "more than two data_offsets"));
}

TEST(Safetensors, RejectsShapesThatDisagreeWithTheDataSize) {
    const auto shaped = [](const char* shape) {
        return cat(R"({"x":{"dtype":"F32","shape":)", shape, R"(,"data_offsets":[0,8]}})");
    };

    EXPECT_TRUE(says(refusal(shaped("[3]"), 8), "F32 of shape (3) needs 12 bytes"));
    EXPECT_TRUE(says(refusal(shaped("[4294967296,4294967296]"), 8), "more bytes than 64 bits can count"));
    EXPECT_TRUE(says(refusal(shaped("[2,9223372036854775809]"), 8), "more bytes than 64 bits can count"));
    EXPECT_TRUE(says(refusal(shaped("[-2]"), 8), "gives -2 for 'x'"));
    EXPECT_TRUE(says(refusal(shaped("[2.0]"), 8), "gives 2.0 for 'x'"));
    EXPECT_TRUE(says(refusal(shaped("[99999999999999999999]"), 8), "gives 99999999999999999999 for 'x'"));
}

TEST(Safetensors, RejectsMalformedHeaders) {
    const std::string twice = small.substr(0, small.size() - 1) + "," + small.substr(1);

    EXPECT_TRUE(says(refusal(twice, 8), "gives the name 'x' twice"));
    EXPECT_TRUE(says(refusal("[]", 0), "is not a JSON object"));
    EXPECT_TRUE(says(refusal(" {}", 0), "is not a JSON object"));
    EXPECT_TRUE(says(refusal(std::string("{}\0x", 4), 0), "is not a JSON object"));
    EXPECT_TRUE(says(refusal("{}x", 0), "is not valid JSON from byte 3 on"));
    EXPECT_TRUE(says(refusal(R"({"x":1})", 0), "gives 1 for 'x'"));
    EXPECT_TRUE(says(refusal(R"({"x":{}})", 0), "gives no dtype for 'x'"));
    EXPECT_TRUE(says(refusal(R"({"x":{"dtype":"F32","dtype":"F32"}})", 0), "gives 'dtype' twice for 'x'"));
    EXPECT_TRUE(says(refusal(R"({"x":{"type":"F32"}})", 0), "gives 'type' for 'x'"));
    EXPECT_TRUE(says(refusal(R"({"x":{"dtype":"F8_E4M3"}})", 0),
                     "stores 'x' as 'F8_E4M3', a type that Trireme does not read; save the tensor as BF16"));
    EXPECT_TRUE(says(refusal(R"({"x":{"dtype":["F32"]}})", 0), "gives a list for 'x'"));
    EXPECT_TRUE(says(refusal(R"({"__metadata__":{"format":1}})", 0), "gives 1 for '__metadata__'"));
    EXPECT_TRUE(says(refusal("{\"\xff\":{}}", 0), "is not valid JSON"));
}

TEST(Safetensors, RejectsDeepNestingAtTheThirdLevel) {
    std::string bomb = R"({"x":{"shape":)";
    bomb.append(1'000'000, '[');

    EXPECT_TRUE(says(refusal(bomb, 0), "gives a list for 'x'"));
}

TEST(Safetensors, ShortensLongNamesInErrors) {
    const std::string name(5000, 'n');

    const std::string message = refusal(cat("{\"", name, "\":\n1}"), 0);

    EXPECT_LT(message.size(), 300U);
    EXPECT_TRUE(says(message, "nnn...'"));
}

TEST(Safetensors, NamesTheUnreadableFileInItsError) {
    EXPECT_TRUE(says(catch_message<ConfigError>([] { SafetensorsFile::open("/nowhere/a.safetensors"); }),
                     "/nowhere/a.safetensors cannot be read: No such file"));
    EXPECT_TRUE(says(catch_message<ConfigError>([] { SafetensorsFile::open("/"); }),
                     "is not a regular file (it is a directory)"));
}

// A limit on the size of files stands for a small disk.
TEST(SafetensorsWriter, NeverExceedsTheSizeOfItsFile) {
    const ScratchFolder scratch;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small_disk{.rlim_cur = 4096, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small_disk), 0);

    const std::string message = catch_message<ResourceError>([&] {
        SafetensorsWriter writer(scratch.file("a.safetensors"), {tensor("x", StoredType::f32, {2})}, {});
        writer.write(std::vector<std::byte>(8));
        writer.finish();
    });

    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(message, "(no error)");
}

}  // namespace
}  // namespace trireme::archive

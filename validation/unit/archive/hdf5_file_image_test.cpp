#include "trireme/archive/hdf5_file_image.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/hdf5_reserved_file.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive::hdf5 {
namespace {

using validation::catch_message;
using validation::says;
using validation::ScratchFolder;

// Returns a file with `datasets` virtual datasets of four boxes each. Their source names have different
// lengths, and there are enough of them to fill heaps of HDF5.
std::string virtual_file(const std::string& source, int datasets = 40) {
    return Imprint([&](Id file) {
               for (int d = 0; d < datasets; ++d) {
                   std::vector<VirtualBox> boxes;
                   for (std::uint64_t row = 0; row < 4; ++row)
                       boxes.push_back({.file = cat(source, row),
                                        .dataset = cat("/x/", std::string(static_cast<std::size_t>(d), 'y')),
                                        .shape = {1, 3},
                                        .offset = {row, 0},
                                        .extent = {1, 3}});
                   create_virtual_array(file, cat("/x/", d), StoredType::f32, {4, 3}, boxes);
               }
           })
        .assemble_file();
}

std::string renamed(std::string bytes, const std::string& before, const std::string& after) {
    rename_source_files(bytes, before, after);
    return bytes;
}

// HDF5 records the second in which an object is created. If a second ends meanwhile, the test starts again.
TEST(VirtualSources, AreRenamedByteForByteAsHdf5WouldWriteThem) {
    for (const int datasets : {1, 40, 150}) {
        std::string before, after;
        do {
            before = virtual_file("part-01234567-", datasets);
            after = virtual_file("part-89abcdef-", datasets);
        } while (before != virtual_file("part-01234567-", datasets));

        EXPECT_NE(before, after);
        EXPECT_TRUE(renamed(before, "part-01234567-", "part-89abcdef-") == after);
    }
}

TEST(VirtualSources, AreRejectedIfLengthCountOrChecksumDiffers) {
    const std::string bytes = virtual_file("part-0-", 3);
    std::string damaged = bytes;
    damaged[bytes.find("part-0-") - 1] ^= 4;  // a bit of the number of names, which precedes the first name

    EXPECT_EQ(renamed(bytes, "part-2-", "part-3-"), bytes);
    EXPECT_TRUE(says(catch_message<BugError>([&] { renamed(bytes, "part-0-", "part-10-"); }), "same length"));
    EXPECT_TRUE(says(catch_message<BugError>([&] { renamed(bytes + "part-0-", "part-0-", "part-1-"); }),
                     "only 12 of the 13 occurrences of \"part-0-\" in an HDF5 file"));
    EXPECT_TRUE(says(catch_message<BugError>([&] { renamed(damaged, "part-0-", "part-1-"); }),
                     "does not match its checksum"));
}

// The file has two rows of three numbers. The copies change a text and a number of it.
TEST(Imprint, IsCopiedWithNewAttributesAndValues) {
    const ScratchFolder folder;
    std::uint64_t offset = 0;
    const Imprint imprint(
        [&](Id file) {
            write_text(file, "save", "0000");
            write_number(file, "updates", 0);
            create_array(file, "/far", StoredType::u8, {std::uint64_t{1} << 33});
            offset = create_array(file, "/x", StoredType::f32, {2, 3}).offset;
        },
        2);
    const std::array<float, 6> values{1, 2, 3, 4, 5, 6};

    for (const std::string save : {"abcd", "cdef"}) {
        const std::string path = folder.file(save);
        {
            ReservedFile copy(path, imprint);
            overwrite_text(copy.id(), "save", save);
            overwrite_number(copy.id(), "updates", 7);
            copy.close();
        }
        WritableFile(path).write(offset, std::as_bytes(std::span(values)));

        const Handle file = open_read_only(path);
        EXPECT_EQ(read_text(file.get(), "save"), save);
        EXPECT_EQ(read_number(file.get(), "updates"), 7U);
        const Handle dataset(H5Dopen2(file.get(), "/x", H5P_DEFAULT), H5Dclose);
        std::array<float, 6> found{};
        ASSERT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);
        EXPECT_EQ(found, values);
        EXPECT_EQ(std::filesystem::file_size(path), imprint.size());
    }
    EXPECT_GT(imprint.size(), std::uint64_t{1} << 33);
    for (const Imprint::ByteRange& range : imprint.ranges()) EXPECT_LT(range.bytes.size(), 1U << 20);
}

}  // namespace
}  // namespace trireme::archive::hdf5

#include "trireme/archive/hdf5_array.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive::hdf5 {
namespace {

using validation::catch_message;
using validation::says;
using validation::ScratchFolder;

constexpr std::array<float, 6> values{1, 2, 3, 4, 5, 6};
const std::vector<std::uint64_t> two_by_three{2, 3};

// Writes /parameters/x, two rows of three floats. HDF5 does not write the elements.
void write_file(const std::string& path) {
    std::uint64_t offset = 0;
    {
        const Handle file = create_file(path);
        const Array array = create_array(file.get(), "/parameters/x", StoredType::f32, two_by_three);
        write_numbers(array.dataset.get(), "box", std::array<std::uint64_t, 2>{7, 8});
        offset = array.offset;
    }
    const WritableFile file(path);
    file.write(offset, std::as_bytes(std::span(values)));
    file.sync();
}

TEST(Hdf5Array, IsReadAtItsOffsetWithoutHdf5) {
    const ScratchFolder folder;
    const std::string path = folder.file("a.h5");
    write_file(path);

    const Handle file = open_read_only(path);
    const Array array = open_array(file.get(), path, "/parameters/x", "stop");
    std::array<float, 6> found{};
    PositionedFile(path).read(array.offset, std::as_writable_bytes(std::span(found)));

    EXPECT_EQ(array.type, StoredType::f32);
    EXPECT_EQ(array.shape, two_by_three);
    EXPECT_EQ(read_numbers(array.dataset.get(), "box"), (std::vector<std::uint64_t>{7, 8}));
    EXPECT_TRUE(read_numbers(array.dataset.get(), "none").empty());
    EXPECT_EQ(found, values);
}

// A thread writes a checkpoint like this while another thread uses HDF5.
TEST(Hdf5Array, IsWrittenAtItsOffsetWithoutHdf5) {
    const ScratchFolder folder;
    write_file(folder.file("a.h5"));

    const Handle file = open_read_only(folder.file("a.h5"));
    const Handle dataset(H5Dopen2(file.get(), "/parameters/x", H5P_DEFAULT), H5Dclose);
    std::array<float, 6> found{};
    ASSERT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);
    EXPECT_EQ(found, values);
}

TEST(Hdf5Array, MapsBoxesOfOtherFilesIfVirtual) {
    const ScratchFolder folder;
    write_file(folder.file("part.h5"));
    {
        const Handle file = create_file(folder.file("model.h5"));
        // The two rows of the part follow a row that no file holds.
        create_virtual_array(file.get(), "/parameters/x", StoredType::f32, {3, 3},
                             {{.file = "part.h5",
                               .dataset = "/parameters/x",
                               .shape = two_by_three,
                               .offset = {1, 0},
                               .extent = {2, 3}}});
    }

    const Handle file = open_read_only(folder.file("model.h5"));
    const Handle dataset(H5Dopen2(file.get(), "/parameters/x", H5P_DEFAULT), H5Dclose);
    std::array<float, 9> found{};
    ASSERT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);

    EXPECT_EQ(found, (std::array<float, 9>{0, 0, 0, 1, 2, 3, 4, 5, 6}));
}

TEST(Hdf5Array, RejectsIntegerAndChunkedDatasets) {
    const ScratchFolder folder;
    const std::string path = folder.file("a.h5");
    const auto refusal = [&](hid_t type, bool is_chunked) {
        {
            const Handle file = create_file(path);
            const Handle group(H5Gcreate2(file.get(), "/parameters", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                               H5Gclose);
            const hsize_t size = 4;
            const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
            const Handle create(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
            if (is_chunked) H5Pset_chunk(create.get(), 1, &size);
            const Handle dataset(
                H5Dcreate2(group.get(), "x", type, space.get(), H5P_DEFAULT, create.get(), H5P_DEFAULT),
                H5Dclose);
            const std::array<float, 4> zeros{};
            H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data());
        }
        return catch_message<ConfigError>(
            [&] { open_array(open_read_only(path).get(), path, "/parameters/x", "stop"); });
    };

    EXPECT_TRUE(says(refusal(H5T_STD_I32LE, false), "/parameters/x of " + path + " has an element type other"));
    EXPECT_TRUE(says(refusal(H5T_IEEE_F32LE, true), "is not stored contiguously; stop"));
}

TEST(Hdf5Array, NamesTheMissingDatasetInItsError) {
    const ScratchFolder folder;
    const std::string path = folder.file("a.h5");
    create_file(path);

    const std::string message = catch_message<ConfigError>(
        [&] { open_array(open_read_only(path).get(), path, "/parameters/x", "copy it again"); });

    EXPECT_TRUE(says(message, "cannot read /parameters/x of " + path));
    EXPECT_TRUE(says(message, "copy it again"));
}

}  // namespace
}  // namespace trireme::archive::hdf5

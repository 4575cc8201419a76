#include "trireme/archive/hdf5_array.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <array>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme::hdf5 {
namespace {

using validation::message_of;
using validation::says;
using validation::ScratchFolder;

const std::string any_sum(64, 'a');
constexpr std::array<float, 6> values{1, 2, 3, 4, 5, 6};

Array array_of(StoredType type, std::vector<std::uint64_t> shape) {
    Array array;
    array.type = type;
    array.shape = std::move(shape);
    array.source = StoredType::bf16;
    return array;
}

// /parameters/x, two rows of three floats.
void write_file(const std::string& path) {
    Handle file = create_file(path);
    ArrayWriter writer(file.get(), "/parameters/x", array_of(StoredType::f32, {2, 3}));
    writer.write(std::as_bytes(std::span(values)));
    writer.finish(any_sum);
}

TEST(Hdf5Array, IsReadAtItsOffsetWithoutHdf5) {
    const ScratchFolder folder;
    const std::string path = folder.file("a.h5");
    write_file(path);

    const std::vector<Array> arrays = read_arrays(open_read_only(path).get(), path, "/parameters", "stop");
    std::array<float, 6> found{};
    PositionedFile(path).read(arrays.at(0).offset, std::as_writable_bytes(std::span(found)));

    ASSERT_EQ(arrays.size(), 1U);
    EXPECT_EQ(arrays[0].name, "x");
    EXPECT_EQ(arrays[0].shape, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(arrays[0].sha256, any_sum);
    EXPECT_EQ(arrays[0].source, StoredType::bf16);
    EXPECT_EQ(found, values);
}

// As a thread writes a checkpoint while HDF5 belongs to another.
TEST(Hdf5Array, IsWrittenAtItsOffsetWithoutHdf5) {
    const ScratchFolder folder;
    const std::string path = folder.file("a.h5");
    std::uint64_t offset = 0;
    {
        const Handle file = create_file(path);
        ArrayWriter writer(file.get(), "/parameters/x", array_of(StoredType::f32, {6}));
        offset = writer.offset();
        writer.finish(any_sum);
    }

    const int descriptor = ::open(path.c_str(), O_WRONLY);
    ASSERT_EQ(::pwrite(descriptor, values.data(), sizeof values, static_cast<off_t>(offset)),
              static_cast<ssize_t>(sizeof values));
    ::close(descriptor);

    const Handle file = open_read_only(path);
    const Handle dataset(H5Dopen2(file.get(), "/parameters/x", H5P_DEFAULT), H5Dclose);
    std::array<float, 6> found{};
    ASSERT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);
    EXPECT_EQ(found, values);
}

TEST(Hdf5Array, VirtualArraysShowBoxesOfOtherFiles) {
    const ScratchFolder folder;
    write_file(folder.file("part.h5"));
    {
        const Handle file = create_file(folder.file("model.h5"));
        // The part's two rows under a row that nobody has.
        create_virtual_array(
            file.get(), "/parameters/x", StoredType::f32, {3, 3},
            {{.file = "part.h5", .dataset = "/parameters/x", .offset = {1, 0}, .extent = {2, 3}}});
    }

    const Handle file = open_read_only(folder.file("model.h5"));
    const Handle dataset(H5Dopen2(file.get(), "/parameters/x", H5P_DEFAULT), H5Dclose);
    std::array<float, 9> found{};
    ASSERT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);

    EXPECT_EQ(found, (std::array<float, 9>{0, 0, 0, 1, 2, 3, 4, 5, 6}));
}

TEST(Hdf5Array, RefusesDatasetsThatAreNoArrays) {
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
        return message_of<ConfigError>(
            [&] { read_arrays(open_read_only(path).get(), path, "/parameters", "stop"); });
    };

    EXPECT_TRUE(says(refusal(H5T_STD_I32LE, false), "x of " + path + " holds neither 32-bit nor 64-bit"));
    EXPECT_TRUE(says(refusal(H5T_IEEE_F32LE, true), "is not in one piece of the file; stop"));
    EXPECT_TRUE(says(refusal(H5T_IEEE_F32LE, false), "has no checksum"));
}

TEST(Hdf5Array, NamesAGroupThatIsMissing) {
    const ScratchFolder folder;
    const std::string path = folder.file("a.h5");
    create_file(path);

    const std::string message = message_of<ConfigError>(
        [&] { read_arrays(open_read_only(path).get(), path, "/parameters", "copy it again"); });

    EXPECT_TRUE(says(message, "cannot read /parameters of " + path));
    EXPECT_TRUE(says(message, "copy it again"));
}

}  // namespace
}  // namespace trireme::hdf5

// Changes an HDF5 file as a foreign program might, without updating Trireme's checksums.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdint>
#include <string>

#include "trireme/archive/hdf5_file.hpp"

namespace trireme::validation {

inline archive::hdf5::Handle opened_to_change(const std::string& path) {
    archive::hdf5::silence_errors();
    return {H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose};
}

// Sets an attribute of the file's root or of a dataset.
inline void set_number(const std::string& path, const char* object, const char* name, std::uint64_t value) {
    const archive::hdf5::Handle file = opened_to_change(path);
    const archive::hdf5::Handle attribute(H5Aopen_by_name(file.get(), object, name, H5P_DEFAULT, H5P_DEFAULT),
                                          H5Aclose);
    ASSERT_GE(H5Awrite(attribute.get(), H5T_NATIVE_UINT64, &value), 0);
}

// Removes an attribute of the file's root.
inline void remove_attribute(const std::string& path, const char* name) {
    const archive::hdf5::Handle file = opened_to_change(path);
    ASSERT_GE(H5Adelete(file.get(), name), 0) << name;
}

inline void set_text(const std::string& path, const char* name, const std::string& value) {
    remove_attribute(path, name);
    archive::hdf5::write_text(opened_to_change(path).get(), name, value);
}

inline void set_element(const std::string& path, const char* dataset_name, hsize_t position,
                        std::uint64_t value) {
    const archive::hdf5::Handle file = opened_to_change(path);
    const archive::hdf5::Handle dataset(H5Dopen2(file.get(), dataset_name, H5P_DEFAULT), H5Dclose);
    const archive::hdf5::Handle space(H5Dget_space(dataset.get()), H5Sclose);
    H5Sselect_elements(space.get(), H5S_SELECT_SET, 1, &position);
    const hsize_t one = 1;
    const archive::hdf5::Handle memory(H5Screate_simple(1, &one, nullptr), H5Sclose);
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_UINT64, memory.get(), space.get(), H5P_DEFAULT, &value), 0);
}

inline void resize_dataset(const std::string& path, const char* dataset_name, hsize_t elements) {
    const archive::hdf5::Handle file = opened_to_change(path);
    const archive::hdf5::Handle dataset(H5Dopen2(file.get(), dataset_name, H5P_DEFAULT), H5Dclose);
    ASSERT_GE(H5Dset_extent(dataset.get(), &elements), 0) << dataset_name;
}

inline void remove_dataset(const std::string& path, const char* dataset_name) {
    const archive::hdf5::Handle file = opened_to_change(path);
    ASSERT_GE(H5Ldelete(file.get(), dataset_name, H5P_DEFAULT), 0) << dataset_name;
}

// Returns the SHA-256 of the dataset that was recorded when it was written; "none" if there is none.
inline std::string recorded_sum(const std::string& path, const char* dataset_name) {
    const archive::hdf5::Handle file = archive::hdf5::open_read_only(path);
    const archive::hdf5::Handle dataset(H5Dopen2(file.get(), dataset_name, H5P_DEFAULT), H5Dclose);
    return archive::hdf5::read_text(dataset.get(), "sha256").value_or("none");
}

}  // namespace trireme::validation

std::string word = "c++";
std::cout << "hello from " << word << std::endl;

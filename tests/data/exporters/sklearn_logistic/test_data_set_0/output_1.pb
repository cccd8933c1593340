BprobabilitiesJT\H{?}ô–<)ð}2ÀH{?è–<ê3F*}?_n5<s‘F2ðG;)dG?›O_>S(<Pñ??|ºu>~†q3b“š;ÙÊ~?eºŒ:¥é>ç
?